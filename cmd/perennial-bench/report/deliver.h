#pragma once

#include <vector>

#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/report/budgets.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Gives the report to whoever asked: as a table on standard output, or as JSON there if that was
// asked for; into files; and checked against the budgets, of which there are some if options.check
// says so. Io: a file cannot be written. NotFound: not all budgets are met.
Status deliver(const BenchOptions& options, const std::vector<Budget>& budgets,
               const Report& report);

}  // namespace perennial::bench
