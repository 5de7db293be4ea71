#include "cmd/perennial/monitor/time_limit.h"

#include <csignal>
#include <utility>

#include <sys/time.h>
#include <unistd.h>

namespace perennial::tool {
namespace {

// For a signal handler.
LateEnd& late_end() {
  static LateEnd end = {.fd = STDERR_FILENO, .text = {}, .exit_code = 1};
  return end;
}

void on_late(int /*number*/) {
  const LateEnd& end = late_end();
  const ssize_t written = ::write(end.fd, end.text.data(), end.text.size());
  (void)written;  // Nobody is there to say it to if this fails; the exit code says it, too.
  ::_exit(end.exit_code);
}

}  // namespace

void end_after(std::chrono::milliseconds limit, LateEnd end) {
  late_end() = std::move(end);
  std::signal(SIGALRM, on_late);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  const std::chrono::microseconds rest = limit - seconds;
  const itimerval timer = {.it_interval = {},
                           .it_value = {.tv_sec = seconds.count(), .tv_usec = rest.count()}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void in_time() {
  std::signal(SIGALRM, SIG_IGN);
}

}  // namespace perennial::tool
