#pragma once

#include <string>
#include <vector>

#include "engine/types/basic.h"

namespace perennial::bench {

// A scale with its ticks. Its ends are round numbers that enclose what it was made for.
struct Axis {
  struct Tick {
    double value = 0;
    std::string label = {};
  };

  double lowest = 0;
  double highest = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks = {};

  // Where a value stands: 0 is the lowest, 1 the highest. What is outside stands at the end.
  double place_of(double value) const;
};

// Logarithmic, in nanoseconds. REQUIRES: shortest <= longest.
Axis latency_axis(Nanos shortest, Nanos longest);
// From 0, in operations per second.
Axis rate_axis(double highest);
// From 0, in seconds.
Axis time_axis(double seconds);
// From 0, in nines: log10(1 / (1 - share)), as percentile_curve.h has it.
Axis percentile_axis(double nines);

}  // namespace perennial::bench
