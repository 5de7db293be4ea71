#pragma once

#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Runs the workloads and returns the report. Prints only its progress, on a terminal.
// InvalidArgument: the options are invalid. On return the servers that it started have ended and
// their directories are removed, also after an error.
Result<Report> measure(const BenchOptions& options);

// perennial bench: measures and prints the report.
Status bench(const BenchOptions& options);

}  // namespace perennial::bench
