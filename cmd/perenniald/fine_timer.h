#pragma once

#include <functional>

#include <uv.h>

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
  ~FineTimer();

  // In place of what it was armed for before. At once if that is past.
  void arm(Nanos left);
  // Ends its handle, as the loop's end wants it. It may be destroyed when the loop has run out.
  void close();

 private:
  const int fd_;
  const std::function<void()> fired_;
  uv_poll_t poll_;
};

}  // namespace perennial::perenniald
