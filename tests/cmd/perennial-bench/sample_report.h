#pragma once

#include "cmd/perennial-bench/results/measurement.h"

namespace perennial::bench {

// `count` latencies of 1, 2, ... microseconds, once each, so that percentiles are easy to verify.
Latencies latencies_up_to(int count);

// One complete measurement of one server: 1,000 latencies, three rounds around `per_second`, and a
// timeline of four intervals.
Measurement put_of(const std::string& server, double per_second);

// Two servers, "ours" at 200,000 per second and "logged" at 100,000, in `put` 50x1 and in
// `restart`, which has only figures.
Report sample_report();

}  // namespace perennial::bench
