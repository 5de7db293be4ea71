#pragma once

#include <cstdint>

namespace perennial::overload {

// How much of everything: --connections N, --body-bytes N, --moved N, --reserved N, --puts N,
// --tubes N. The defaults are for every run; tests/run --long gives the real ones.
struct Sizes {
  uint64_t connections = 300;
  uint64_t body_bytes = 64 << 20;
  uint64_t moved = 200'000;  // By one kick, and by time.
  uint64_t reserved = 100'000;
  uint64_t puts = 2'000;  // Of each of a hundred clients.
  uint64_t tubes = 30'000;
};

inline Sizes& sizes() {
  static Sizes value;
  return value;
}

}  // namespace perennial::overload
