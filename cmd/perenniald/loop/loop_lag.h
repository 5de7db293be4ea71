#pragma once

#include <algorithm>

#include "engine/types/basic.h"

namespace perennial::perenniald {

// The longest turn of the loop in the last five to ten seconds: how long a client may have waited
// for the loop. Turns are counted in windows of five seconds; the result covers the present window
// and the one before it.
class LoopLag {
 public:
  void on_turn(Nanos begun, Nanos ended) {
    pass(ended);
    longest_ = std::max(longest_, ended - begun);
  }

  // This ends a window as well, because there may have been no turn for hours.
  Nanos longest(Nanos now) {
    pass(now);
    return std::max(longest_, longest_before_);
  }

 private:
  static constexpr Nanos window = 5 * nanos_per_second;

  void pass(Nanos now) {
    const Nanos age = now - window_start_;
    if (age <= window) return;
    longest_before_ = age <= 2 * window ? longest_ : 0;
    longest_ = 0;
    window_start_ = now;
  }

  Nanos window_start_ = 0;
  Nanos longest_ = 0;
  Nanos longest_before_ = 0;
};

}  // namespace perennial::perenniald
