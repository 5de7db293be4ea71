#include "cmd/perenniald/loop/fine_timer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {

FineTimer::FineTimer(uv_loop_t& loop, std::function<void()> fired)
    : fired_(std::move(fired)),
      timer_(loop, ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
             [this] { on_readable(); }) {}

void FineTimer::on_readable() {
  uint64_t times = 0;  // Stays 0 if it was armed anew meanwhile.
  if (::read(timer_.fd(), &times, sizeof times) == sizeof times) fired_();
}

void FineTimer::arm(Nanos left) {
  left = std::max(left, Nanos{1});  // 0 would disarm it.
  const itimerspec when = {
      .it_interval = {},
      .it_value = {.tv_sec = left / nanos_per_second, .tv_nsec = left % nanos_per_second}};
  CHECK(::timerfd_settime(timer_.fd(), 0, &when, nullptr) == 0);
}

}  // namespace perennial::perenniald
