#pragma once

#include <cstdint>

namespace perennial::store {

// The number of bytes to flip, which --positions sets.
inline uint64_t& positions() {
  static uint64_t value = 60;
  return value;
}

// The number of random stores whose logs are damaged, which --runs sets; and the measure of
// whatever else is random but no flip: of damages that a working store meets, and of places where
// files are cut. The default keeps a run short, because each damage is a start of the store in a
// process of its own, and runs have different seeds. tests/run --long has more.
inline uint64_t& runs() {
  static uint64_t value = 2;
  return value;
}

}  // namespace perennial::store
