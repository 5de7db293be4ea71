#pragma once

#include <functional>

#include <uv.h>

namespace perennial::perenniald {

// A descriptor that this object owns and that libuv watches.
class WatchedFd {
 public:
  // Takes over `fd`. `readable` is called from the loop for as long as there is something to read.
  // What it uses, and `loop`, outlive this. CHECK: `fd` is invalid, or cannot be watched.
  WatchedFd(uv_loop_t& loop, int fd, std::function<void()> readable);
  WatchedFd(const WatchedFd&) = delete;
  WatchedFd& operator=(const WatchedFd&) = delete;
  ~WatchedFd();

  int fd() const { return fd_; }
  // Ends the watching for good.
  void stop();
  // Closes its handle, which the loop needs to end. It may be destroyed when the loop has ended.
  void close();

 private:
  const int fd_;
  const std::function<void()> readable_;
  uv_poll_t poll_;
};

}  // namespace perennial::perenniald
