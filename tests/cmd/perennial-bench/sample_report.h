#pragma once

#include "cmd/perennial-bench/results/measurement.h"

namespace perennial::bench {

// `count` latencies of 1, 2, ... microseconds, each once: percentiles are easily told.
Latencies latencies_up_to(int count);

// One measurement of one server, with everything in it: 1,000 latencies, three rounds around
// `per_second`, a timeline of four intervals.
Measurement put_of(const std::string& server, double per_second);

// Two servers, "ours" at 200,000 a second and "logged" at 100,000, in `put` 50x1; and the same two
// in `restart`, which has figures only.
Report sample_report();

}  // namespace perennial::bench
