#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <sys/types.h>

namespace perennial::overload {

// VmRSS: the bytes of memory that a process has now. 0 when it is gone.
uint64_t resident_bytes(pid_t pid);

// Looks at it again and again, on a thread of its own, for the most that there was.
class MemoryGauge {
 public:
  ~MemoryGauge() { stop(); }

  void start(pid_t pid);
  // REQUIRES: it was started. Returns the peak in bytes.
  uint64_t stop();

 private:
  std::atomic<bool> stopping_ = false;
  uint64_t peak_bytes_ = 0;
  std::thread thread_;
};

}  // namespace perennial::overload
