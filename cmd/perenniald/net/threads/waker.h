#pragma once

#include <atomic>

#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {

// Wakes a thread that blocks in an epoll set, which watches fd(). It costs a call to the kernel
// only when the thread sleeps, and once for each sleep.
//
// The thread that sleeps calls going_to_sleep(), then looks once more whether there is something to
// do, and blocks only if there is nothing. Whoever gives it something does that before wake(). One
// of the two sees what the other has done, since both are in one order (seq_cst).
class Waker {
 public:
  Waker() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_ >= 0); }
  ~Waker() { ::close(fd_); }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  int fd() const { return fd_; }
  void going_to_sleep() { is_asleep_ = true; }
  // It does not sleep, or no longer, and needs no call that wakes it.
  void is_awake() { is_asleep_ = false; }
  // On any thread.
  void wake() {
    if (is_asleep_.exchange(false)) CHECK(::eventfd_write(fd_, 1) == 0);
  }
  // Takes what wake() has written, so that fd() is not ready any more.
  void drain() {
    eventfd_t count = 0;
    (void)::eventfd_read(fd_, &count);  // Nothing was written: nobody has woken it.
  }

 private:
  const int fd_;
  std::atomic<bool> is_asleep_ = false;
};

}  // namespace perennial::perenniald
