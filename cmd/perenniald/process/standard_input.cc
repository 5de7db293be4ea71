#include "cmd/perenniald/process/standard_input.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "cmd/perenniald/process/aborts.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

// Blocks, so that the flags of the descriptor, which others may share, stay as they are.
void wait_for_end() {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    log(Level::Info, "stdin.ended", {});
    ::kill(::getpid(), SIGTERM);
    return;
  }
}

}  // namespace

Status check_standard_input() {
  struct stat info = {};
  if (::fstat(STDIN_FILENO, &info) == 0 &&
      (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || ::isatty(STDIN_FILENO) == 1)) {
    return {};
  }
  return {
      StatusCode::InvalidArgument,
      "--exit-with-stdin: standard input is no pipe, no socket and no terminal, so nobody holds "
      "it open"};
}

void exit_with_standard_input() {
  make_threads("standard input", [] { std::thread(wait_for_end).detach(); });
}

}  // namespace perennial::perenniald
