#pragma once

#include <string>

#include "cmd/perennial/bench/measurement.h"

namespace perennial::bench {

// Throughput is the median of the rounds, latencies are those of all rounds together. The ratio is
// to the first server.
std::string format_table(const Report& report);

}  // namespace perennial::bench
