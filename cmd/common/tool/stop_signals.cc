#include "cmd/common/tool/stop_signals.h"

#include <ctime>

namespace perennial::tool {

StopSignals::StopSignals() {
  ::sigemptyset(&signals_);
  ::sigaddset(&signals_, SIGINT);
  ::sigaddset(&signals_, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

// The destructor also takes a signal that arrived after the last poll. Otherwise that signal would
// end the process before the program reports its result.
StopSignals::~StopSignals() {
  stopped();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::stopped() {
  const timespec at_once{};
  while (::sigtimedwait(&signals_, nullptr, &at_once) > 0) stopped_ = true;
  return stopped_;
}

}  // namespace perennial::tool
