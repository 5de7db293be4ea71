#include "cmd/perenniald/process/aborts.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

std::atomic<const char*> threads_being_made = nullptr;

Failure no_thread(std::string_view why) {
  return {common::exit_system, "start.thread",
          fmt::format("no thread can be made: {} (limits of the user, of the service or of the "
                      "container: ulimit -u, TasksMax, pids.max)",
                      why)};
}

// Also called where a destructor throws, or a function that must not; all of these abort.
[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    if (is_thread) end_process(no_thread(error.what()));
    log(Level::Error, "abort", {{"error", error.what()}});
  } catch (const std::exception& error) {
    log(Level::Error, "abort", {{"error", error.what()}});
  } catch (...) {
    log(Level::Error, "abort", {{"error", "an exception of an unknown type"}});
  }
  flush_log();
  std::abort();
}

void on_abort_signal(int /*number*/) {
  const char* const what = threads_being_made;
  if (what != nullptr) end_process(no_thread(what));
  // Not only abort() sends it: an operator does for a core dump, and systemd's watchdog. It arrives
  // when this returns.
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

// The files of RocksDB that call the system. Debian builds RocksDB with assertions, some of which
// are about what such a call returns.
bool is_about_system_call(std::string_view file) {
  return file.find("env/") != std::string_view::npos ||
         file.find("port/") != std::string_view::npos;
}

}  // namespace

void handle_aborts() {
  std::set_terminate(on_terminate);
  std::signal(SIGABRT, on_abort_signal);
}

void make_threads(const char* what, const std::function<void()>& step) {
  threads_being_made = what;
  step();
  threads_being_made = nullptr;
}

}  // namespace perennial::perenniald

// The C library's function that reports a failed assertion, for all libraries of the process.
extern "C" [[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                           const char* function) noexcept {
  using namespace perennial;
  const int error = errno;
  std::string text = fmt::format("assertion of {} in {}:{}: {}", function, file, line, assertion);
  if (perenniald::is_about_system_call(file) && error != 0) {
    text += ": " + std::error_code(error, std::generic_category()).message();
    perenniald::end_process({common::exit_io, "store.failed", text});
  }
  perenniald::log(perenniald::Level::Error, "abort", {{"error", text}});
  perenniald::flush_log();
  std::abort();
}
