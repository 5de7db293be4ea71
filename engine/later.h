#pragma once

#include <limits>

#include "engine/types/basic.h"

namespace perennial::engine {

// The time `by` after `at`, or the last time that there is. A client may ask for durations whose
// sum is longer than the time that nanoseconds since the epoch can count. REQUIRES: both are at
// least 0.
constexpr Nanos later(Nanos at, Nanos by) {
  constexpr Nanos last = std::numeric_limits<Nanos>::max();
  return at > last - by ? last : at + by;
}

}  // namespace perennial::engine
