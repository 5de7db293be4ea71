#pragma once

#include <vector>

#include "cmd/perennial-bench/results/latencies.h"

namespace perennial::bench {

// A point of a distribution, by its number of nines: 0 is the minimum, 1 is 90 %, 2 is 99 %. This
// scale shows the tail of latencies.
struct CurvePoint {
  double nines = 0;  // log10(1 / (1 - share)).
  double share = 0;  // The share of operations that take no longer.
  Nanos latency = 0;
};

// Returns `steps` points for each nine, as far as there are enough latencies to distinguish them.
// The last point is the maximum, with share 1 and as many nines as the count allows. Empty if there
// are no latencies.
std::vector<CurvePoint> percentile_curve(const Latencies& latencies, unsigned steps);

}  // namespace perennial::bench
