#pragma once

#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Runs the workloads and says what came of them. Prints nothing but how far it is, on a terminal.
// InvalidArgument: the options make no sense. Whatever happens, the servers that it started have
// ended and their directories are gone when it returns.
Result<Report> measure(const BenchOptions& options);

// perennial bench: measures, and prints.
Status bench(const BenchOptions& options);

}  // namespace perennial::bench
