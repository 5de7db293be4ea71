#pragma once

#include <string>
#include <vector>

#include "cmd/perennial/bench/bench_put.h"

namespace perennial::bench {

// Processor, cores, memory, kernel; and, of the disk that holds `dir`, what a small synced write
// takes. An empty `dir`: nothing about a disk.
std::string describe_machine(const std::string& dir);
std::string describe_options(const PutOptions& options);

// Throughput is the median of the rounds, latencies are those of all rounds together. The ratio is
// to the first row.
std::string format_table(const std::vector<PutResult>& results);

double median(std::vector<double> values);

}  // namespace perennial::bench
