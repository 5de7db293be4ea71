#pragma once

#include <chrono>
#include <cstdint>

namespace perennial::simulation {

// How long each simulation runs. The number of runs has precedence over seconds.
struct Settings {
  uint64_t runs = 0;
  uint64_t model_seconds = 10;
  uint64_t store_seconds = 25;
};
Settings& settings();

// Whether another run is due, for one of several tests that share the time.
class Budget {
 public:
  Budget(uint64_t seconds, uint64_t sharers)
      : ends_(std::chrono::steady_clock::now() +
              std::chrono::milliseconds(1000 * seconds / sharers)) {}

  bool next() {
    if (settings().runs > 0) return done_++ < settings().runs;
    return std::chrono::steady_clock::now() < ends_;
  }

 private:
  const std::chrono::steady_clock::time_point ends_;
  uint64_t done_ = 0;
};

}  // namespace perennial::simulation
