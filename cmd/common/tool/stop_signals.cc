#include "cmd/common/tool/stop_signals.h"

#include <ctime>

namespace perennial::tool {

StopSignals::StopSignals() {
  ::sigemptyset(&signals_);
  ::sigaddset(&signals_, SIGINT);
  ::sigaddset(&signals_, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

// One that came last of all is taken, too: it would end the process before it can say how it went.
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
