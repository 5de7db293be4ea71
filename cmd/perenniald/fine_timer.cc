#include "cmd/perenniald/fine_timer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {

FineTimer::FineTimer(uv_loop_t& loop, std::function<void()> fired)
    : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)), fired_(std::move(fired)) {
  CHECK(fd_ >= 0);
  CHECK(uv_poll_init(&loop, &poll_, fd_) == 0);
  poll_.data = this;
  const auto readable = [](uv_poll_t* handle, int /*status*/, int /*events*/) {
    const FineTimer& timer = *static_cast<FineTimer*>(handle->data);
    uint64_t times = 0;  // None, if it was armed anew meanwhile.
    if (::read(timer.fd_, &times, sizeof times) == sizeof times) timer.fired_();
  };
  CHECK(uv_poll_start(&poll_, UV_READABLE, readable) == 0);
}

FineTimer::~FineTimer() {
  ::close(fd_);
}

void FineTimer::arm(Nanos left) {
  left = std::max(left, Nanos{1});  // 0 would disarm it.
  const itimerspec when = {
      .it_interval = {},
      .it_value = {.tv_sec = left / nanos_per_second, .tv_nsec = left % nanos_per_second}};
  CHECK(::timerfd_settime(fd_, 0, &when, nullptr) == 0);
}

void FineTimer::close() {
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), nullptr);
}

}  // namespace perennial::perenniald
