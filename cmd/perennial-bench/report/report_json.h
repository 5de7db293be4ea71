#pragma once

#include <string>

#include "cmd/perennial-bench/results/measurement.h"

namespace perennial::bench {

// The whole report as a JSON document, for scripts. Names are never changed or reused. Where there
// is nothing to tell it is null; bytes that are not UTF-8 become U+FFFD.
//
//   machine, preload        text; preload is null when there was none
//   versions                [text], one for each server
//   seed, seconds, rounds   what was asked for; seconds is the length of a round
//   timeline_interval_ms    how long an interval of a timeline is
//   measurements            [{...}], with, for each workload, setting, operation and server:
//     workload, setting, operation, server
//     throughput            {per_second (the median), lowest, highest, rounds: [per second]}
//     latency               {count, unit: "us", p50, p90, p99, p99.9, max,
//                            percentiles: [[percentile, us]]}, ten of them to each 9 behind the
//                           point, as far as the count can tell, and the maximum
//     figures               {NAME: {value, unit}}
//     ratio                 to the first server: {throughput, p50, p90, p99, p99.9, max,
//                           figure:NAME}, each the server's value divided by the first server's
//     client_cpu            share of one core, the highest of the rounds
//     timeline              [operations ended in each interval of the last round]
std::string format_json(const Report& report);

}  // namespace perennial::bench
