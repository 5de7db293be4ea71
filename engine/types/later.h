#pragma once

#include <limits>

#include "engine/types/basic.h"

namespace perennial {

// The last time that there is. The rows on disk hold no later one.
inline constexpr Nanos last_time = std::numeric_limits<Nanos>::max();

// The time `by` after `at`, or last_time. A client may ask for durations whose sum is longer than
// the time that nanoseconds since the epoch can count. Every time that comes of a duration is made
// by this function, so that none is before the epoch. REQUIRES: both are at least 0.
constexpr Nanos later(Nanos at, Nanos by) {
  return at > last_time - by ? last_time : at + by;
}

}  // namespace perennial
