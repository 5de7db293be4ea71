#pragma once

#include <string>

#include "cmd/perennial-bench/results/measurement.h"

namespace perennial::bench {

// A share of one core. Above it the client slows the server down, and the table says so.
inline constexpr double client_share_max = 0.9;

// The report as text for people, at most 120 columns wide. It starts with what was run, where and
// on what. A table follows for each workload, setting and operation, with a line for each server:
// throughput as the median, minimum and maximum of the rounds, latencies of all rounds together in
// microseconds, and the highest share of one core that the client used. Figures have a table of
// their own. The ratio is relative to the first server: for throughput more is better, for a figure
// less. "-" stands for what was not measured, or for too few values (a p99.9 of fewer than a
// thousand).
std::string format_table(const Report& report);

}  // namespace perennial::bench
