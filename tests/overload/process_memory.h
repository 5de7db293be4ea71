#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <sys/types.h>

namespace perennial::overload {

// VmRSS: the resident bytes of a process, or 0 if it has ended.
uint64_t resident_bytes(pid_t pid);

// Samples the memory of a process on its own thread and keeps the peak.
class MemoryGauge {
 public:
  ~MemoryGauge() { stop(); }

  void start(pid_t pid);
  // REQUIRES: the gauge was started. Returns the peak in bytes.
  uint64_t stop();

 private:
  std::atomic<bool> stopping_ = false;
  uint64_t peak_bytes_ = 0;
  std::thread thread_;
};

}  // namespace perennial::overload
