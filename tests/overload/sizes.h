#pragma once

#include <cstdint>

namespace perennial::overload {

// The sizes of all loads: --connections N, --body-bytes N, --moved N, --reserved N, --puts N,
// --tubes N. The defaults suit every run; tests/run --long sets realistic ones.
struct Sizes {
  uint64_t connections = 300;
  uint64_t body_bytes = 64 << 20;
  uint64_t moved = 200'000;  // Jobs moved by one kick, and by time.
  uint64_t reserved = 100'000;
  uint64_t puts = 2'000;  // Puts of each of a hundred clients.
  uint64_t tubes = 30'000;
};

inline Sizes& sizes() {
  static Sizes value;
  return value;
}

}  // namespace perennial::overload
