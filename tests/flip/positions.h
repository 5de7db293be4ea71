#pragma once

#include <cstdint>

namespace perennial::store {

// The number of bytes to flip, which --positions sets.
inline uint64_t& positions() {
  static uint64_t value = 200;
  return value;
}

// The number of random stores whose logs are damaged, and of damages that a working store meets
// for each family, which --runs sets.
inline uint64_t& runs() {
  static uint64_t value = 6;
  return value;
}

}  // namespace perennial::store
