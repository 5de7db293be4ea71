#pragma once

#include <cstdint>

namespace perennial::store {

// The seed of every random test in this binary: --seed N, or a fixed one.
inline uint64_t& seed() {
  static uint64_t value = 20240607;
  return value;
}

}  // namespace perennial::store
