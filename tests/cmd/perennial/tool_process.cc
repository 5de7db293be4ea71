#include "tests/cmd/perennial/tool_process.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

constexpr int run_ms_max = 60'000;

int nameless_file() {
  const int fd = ::memfd_create("perennial-test", MFD_CLOEXEC);
  CHECK(fd >= 0);
  return fd;
}

std::string content_of(int fd) {
  std::string text(static_cast<size_t>(::lseek(fd, 0, SEEK_END)), ' ');
  CHECK(::pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return text;
}

// Runs between fork and exec, so it may only make system calls.
[[noreturn]] void become(char* const* arguments, int input, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool ready = ::dup2(input, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0 &&
                     ::dup2(err, STDERR_FILENO) >= 0;
  if (ready) ::execv(arguments[0], arguments);
  ::_exit(126);
}

}  // namespace

ToolProcess::ToolProcess(std::vector<std::string> arguments, const std::string& input)
    : input_(nameless_file()), out_(nameless_file()), err_(nameless_file()) {
  CHECK(::pwrite(input_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()));
  arguments.insert(arguments.begin(), tool_path());
  std::vector<char*> pointers;
  for (std::string& word : arguments) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) become(pointers.data(), input_, out_, err_);
}

ToolProcess::~ToolProcess() {
  if (pid_ > 0) {
    signal(SIGKILL);
    wait();
  }
  for (const int fd : {input_, out_, err_}) ::close(fd);
}

void ToolProcess::signal(int number) {
  CHECK(pid_ > 0);
  CHECK(::kill(pid_, number) == 0);
}

ToolRun ToolProcess::wait() {
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  CHECK(pidfd >= 0);
  pollfd waiting{.fd = pidfd, .events = POLLIN, .revents = 0};
  CHECK(::poll(&waiting, 1, run_ms_max) == 1);
  ::close(pidfd);
  int status = 0;
  CHECK(::waitpid(std::exchange(pid_, -1), &status, 0) > 0);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = content_of(out_),
          .err = content_of(err_)};
}

ToolRun run_tool(std::vector<std::string> arguments, const std::string& input) {
  return ToolProcess(std::move(arguments), input).wait();
}

std::string tool_path() {
  if (const char* const named = ::getenv("PERENNIAL"); named != nullptr) return named;
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("perennial").string();
}

}  // namespace perennial::support
