#pragma once

#include <string>

#include "cmd/perennial-bench/results/measurement.h"

namespace perennial::bench {

// Of one core: above this the client holds the server back, and the table says so.
inline constexpr double client_share_max = 0.9;

// For people, at most 120 columns wide. First what was run, where and on what. Then a table for
// each workload, setting and operation, with a line for each server: throughput as the median of
// the rounds and their lowest and highest, latencies of all rounds together in microseconds, the
// highest share of one core that the client took. Figures have a table of their own. The ratio is
// to the first server: of throughput, more is better; of a figure, less. "-" stands for what was
// not measured, or of what there was too little to tell (a p99.9 of fewer than a thousand).
std::string format_table(const Report& report);

}  // namespace perennial::bench
