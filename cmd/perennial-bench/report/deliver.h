#pragma once

#include <vector>

#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/report/budgets.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Writes the report to standard output as a table or, if requested, as JSON, and to files. Checks
// it against the budgets if options.check is set. Io: a file cannot be written. NotFound: not all
// budgets are met.
Status deliver(const BenchOptions& options, const std::vector<Budget>& budgets,
               const Report& report);

}  // namespace perennial::bench
