#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/support/seed.h"

// Tests that try many of one kind, each call of a file system or each part of a table, try some of
// them in each run and all of them in the long form. The seed says which: each run has others.
namespace perennial::support {

// `tests/run --long` asks for it.
inline bool is_long_form() {
  return std::getenv("PERENNIAL_LONG") != nullptr;
}

// How many rounds a random test makes, or the distance between two that are tried.
template <typename Number>
Number by_form(Number usual, Number in_long_form) {
  return is_long_form() ? in_long_form : usual;
}

// Whether the one of this number is tried. Without the long form one in `distance` is.
inline bool is_tried(uint64_t number, uint64_t distance) {
  return is_long_form() || (seed() + number) % distance == 0;
}

}  // namespace perennial::support
