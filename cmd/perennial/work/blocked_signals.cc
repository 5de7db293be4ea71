#include "cmd/perennial/work/blocked_signals.h"

#include <utility>

#include <sys/signalfd.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::tool::work {
namespace {

// nohup(1) and shells without job control start programs with some of these ignored. A blocked
// signal is queued even then, so that one must not be among the blocked ones.
bool is_ignored(int number) {
  struct sigaction action {};
  CHECK(::sigaction(number, nullptr, &action) == 0);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

Result<BlockedSignals> BlockedSignals::make() {
  BlockedSignals made;
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    if (!is_ignored(number)) ::sigaddset(&wanted, number);
  ::pthread_sigmask(SIG_BLOCK, &wanted, &made.before_);
  // A log that nobody reads any more must not end the worker, and leave its commands behind.
  ::signal(SIGPIPE, SIG_IGN);
  made.signals_ = common::Socket(::signalfd(-1, &wanted, SFD_CLOEXEC));
  if (made.signals_.fd() < 0) return common::system_error("watch signals");
  return made;
}

BlockedSignals::BlockedSignals(BlockedSignals&& other) noexcept
    : signals_(std::move(other.signals_)),
      before_(other.before_),
      active_(std::exchange(other.active_, false)) {}

BlockedSignals::~BlockedSignals() {
  if (active_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int BlockedSignals::take() const {
  signalfd_siginfo info{};
  CHECK(::read(signals_.fd(), &info, sizeof info) == sizeof info);
  return static_cast<int>(info.ssi_signo);
}

}  // namespace perennial::tool::work
