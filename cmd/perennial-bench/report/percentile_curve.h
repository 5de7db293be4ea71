#pragma once

#include <vector>

#include "cmd/perennial-bench/results/latencies.h"

namespace perennial::bench {

// A point of the distribution: so many nines (0 is the shortest, 1 is 90 %, 2 is 99 %), which is
// the scale on which the tail of latencies can be seen.
struct CurvePoint {
  double nines = 0;  // log10(1 / (1 - share)).
  double share = 0;  // Of all that take no longer.
  Nanos latency = 0;
};

// `steps` points to each nine, as far as there are enough latencies to tell them apart; the last is
// the maximum, of share 1, at as many nines as the count allows. Empty when there are none.
std::vector<CurvePoint> percentile_curve(const Latencies& latencies, unsigned steps);

}  // namespace perennial::bench
