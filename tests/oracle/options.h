#pragma once

#include <cstdint>
#include <random>

namespace perennial::oracle {

// What the command line of this test sets.
struct Options {
  uint64_t seed = std::random_device()();
  uint64_t commands = 20'000;
};

inline Options& options() {
  static Options value;
  return value;
}

}  // namespace perennial::oracle
