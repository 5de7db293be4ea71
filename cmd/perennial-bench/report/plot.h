#pragma once

#include <string>

#include "cmd/perennial-bench/results/measurement.h"

namespace perennial::bench {

// An SVG document that any browser shows, light or dark as its reader has it. For each workload,
// setting and operation that was timed, side by side: latency by percentile, both logarithmic, so
// that the tail has as much room as the rest; and operations per second over the time of the last
// round. A line for each server, in the same colour everywhere.
std::string draw_plot(const Report& report);

}  // namespace perennial::bench
