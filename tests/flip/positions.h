#pragma once

#include <cstdint>

namespace perennial::store {

// How many bytes are flipped in all: --positions N.
inline uint64_t& positions() {
  static uint64_t value = 200;
  return value;
}

}  // namespace perennial::store
