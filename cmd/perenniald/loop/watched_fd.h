#pragma once

#include <functional>

#include <uv.h>

namespace perennial::perenniald {

// A descriptor that is ours, and that libuv watches for us.
class WatchedFd {
 public:
  // Takes over `fd`. `readable` is called from the loop for as long as there is something to read;
  // what it needs, and the loop, outlive this. CHECK: `fd` is none, or cannot be watched.
  WatchedFd(uv_loop_t& loop, int fd, std::function<void()> readable);
  WatchedFd(const WatchedFd&) = delete;
  WatchedFd& operator=(const WatchedFd&) = delete;
  ~WatchedFd();

  int fd() const { return fd_; }
  // Ends its handle, as the loop's end wants it. It may be destroyed when the loop has run out.
  void close();

 private:
  const int fd_;
  const std::function<void()> readable_;
  uv_poll_t poll_;
};

}  // namespace perennial::perenniald
