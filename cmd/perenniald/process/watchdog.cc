#include "cmd/perenniald/process/watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace perennial::perenniald {
namespace {

constexpr std::chrono::milliseconds look_interval{200};

}  // namespace

Nanos StallCounter::look(const WorkSeen& seen, Nanos since_last_look) {
  const bool is_the_same = seen.busy && last_.busy && seen.progress == last_.progress;
  stuck_ = is_the_same ? stuck_ + std::min(since_last_look, look_counts_max) : 0;
  last_ = seen;
  return stuck_;
}

Watchdog::Watchdog(Nanos stall_max, std::function<WorkSeen()> look, std::function<void()> stalled)
    : stall_max_(stall_max),
      look_(std::move(look)),
      stalled_(std::move(stalled)),
      thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::run() {
  using Clock = std::chrono::steady_clock;
  StallCounter counter;
  Nanos said = 0;  // For how long the work had been seen when it was called stalled.
  Clock::time_point last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look_interval, [this] { return stopping_; })) {
    const Clock::time_point now = Clock::now();
    const Nanos stuck = counter.look(look_(), std::chrono::nanoseconds(now - last).count());
    last = now;
    if (stuck < said) said = 0;
    if (stuck - said < stall_max_) continue;
    said = stuck;
    lock.unlock();
    stalled_();
    lock.lock();
  }
}

}  // namespace perennial::perenniald
