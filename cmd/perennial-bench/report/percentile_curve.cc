#include "cmd/perennial-bench/report/percentile_curve.h"

#include <cmath>

namespace perennial::bench {

std::vector<CurvePoint> percentile_curve(const Latencies& latencies, unsigned steps) {
  std::vector<CurvePoint> curve;
  if (latencies.total() == 0) return curve;
  const double last = std::log10(static_cast<double>(latencies.total()));
  for (unsigned step = 0; step / static_cast<double>(steps) < last; ++step) {
    const double nines = step / static_cast<double>(steps);
    const double share = 1 - std::pow(10, -nines);
    curve.push_back({.nines = nines, .share = share, .latency = latencies.at(share)});
  }
  curve.push_back({.nines = last, .share = 1, .latency = latencies.max()});
  return curve;
}

}  // namespace perennial::bench
