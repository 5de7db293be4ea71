#include "cmd/perenniald/loop/watched_fd.h"

#include <utility>

#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {

WatchedFd::WatchedFd(uv_loop_t& loop, int fd, std::function<void()> readable)
    : fd_(fd), readable_(std::move(readable)) {
  CHECK(fd_ >= 0);
  CHECK(uv_poll_init(&loop, &poll_, fd_) == 0);
  poll_.data = this;
  const auto on_readable = [](uv_poll_t* handle, int /*status*/, int /*events*/) {
    static_cast<WatchedFd*>(handle->data)->readable_();
  };
  CHECK(uv_poll_start(&poll_, UV_READABLE, on_readable) == 0);
}

WatchedFd::~WatchedFd() {
  ::close(fd_);
}

void WatchedFd::stop() {
  CHECK(uv_poll_stop(&poll_) == 0);
}

void WatchedFd::close() {
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), nullptr);
}

}  // namespace perennial::perenniald
