#pragma once

#include <functional>

#include <uv.h>

#include "cmd/perenniald/loop/watched_fd.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// A timer that fires once after it was armed, exact to about a microsecond. It is a timerfd:
// libuv's own timers count whole milliseconds, which is longer than a commit delay
// (core/batches/commit_delay.h).
class FineTimer {
 public:
  // `loop` and what `fired` uses outlive this. CHECK: the kernel creates no timer.
  FineTimer(uv_loop_t& loop, std::function<void()> fired);
  FineTimer(const FineTimer&) = delete;
  FineTimer& operator=(const FineTimer&) = delete;

  // Arms the timer, in place of any earlier time. It fires at once if `left` is not positive.
  void arm(Nanos left);
  // Closes its handle, which the loop needs to end. It may be destroyed when the loop has ended.
  void close() { timer_.close(); }

 private:
  void on_readable();

  const std::function<void()> fired_;
  WatchedFd timer_;
};

}  // namespace perennial::perenniald
