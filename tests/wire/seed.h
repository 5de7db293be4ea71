#pragma once

#include <cstdint>
#include <random>

namespace perennial::wire {

// Where the random tests of this binary start; --seed sets it.
inline uint64_t& seed() {
  static uint64_t value = std::random_device()();
  return value;
}

}  // namespace perennial::wire
