#include "tests/overload/process_memory.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace perennial::overload {

uint64_t resident_bytes(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib << 10;
  }
  return 0;
}

void MemoryGauge::start(pid_t pid) {
  thread_ = std::thread([this, pid] {
    while (!stopping_) {
      peak_bytes_ = std::max(peak_bytes_, resident_bytes(pid));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}

uint64_t MemoryGauge::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return peak_bytes_;
}

}  // namespace perennial::overload
