#pragma once

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/bench/measurement.h"
#include "cmd/perennial/bench/options.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Runs the workloads and says what came of them. Prints nothing but how far it is, on a terminal.
// InvalidArgument: the options make no sense. Whatever happens, the servers that it started have
// ended and their directories are gone when it returns.
Result<Report> measure(const BenchOptions& options);

// perennial bench: measures, and prints.
Status bench(const BenchOptions& options);
tool::Subcommand bench_command(BenchOptions& options);

}  // namespace perennial::bench
