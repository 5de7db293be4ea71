#pragma once

#include <functional>

#include <uv.h>

#include "cmd/perenniald/loop/watched_fd.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// Fires once after it was armed, to the microsecond or so: libuv's own timers count whole
// milliseconds, which are longer than the waits of a batch (core/company.h). A timerfd.
class FineTimer {
 public:
  // The loop and what `fired` needs outlive it. CHECK: a timer cannot be had.
  FineTimer(uv_loop_t& loop, std::function<void()> fired);
  FineTimer(const FineTimer&) = delete;
  FineTimer& operator=(const FineTimer&) = delete;

  // In place of what it was armed for before. At once if that is past.
  void arm(Nanos left);
  // Ends its handle, as the loop's end wants it. It may be destroyed when the loop has run out.
  void close() { timer_.close(); }

 private:
  void on_readable();

  const std::function<void()> fired_;
  WatchedFd timer_;
};

}  // namespace perennial::perenniald
