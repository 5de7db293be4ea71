#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/perennial-bench/report/measures.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "engine/types/status.h"

namespace perennial::bench {

// A required result of a server, relative to another server, relative to another setting of the
// same server, or absolute. etc/bench-budgets.yaml describes the syntax.
struct Budget {
  std::string name;
  std::string workload;
  // None: the workload has only one setting, or only one operation.
  std::optional<std::string> setting = {};
  std::optional<std::string> operation = {};
  std::string ours;                                 // The server that the budget is for.
  std::optional<std::string> against = {};          // Another server in the same setting.
  std::optional<std::string> against_setting = {};  // Another setting of `ours`.
  std::string measure_name = {};
  Measure measure = {};
  // Bounds the ratio to the reference, or the value if there is no reference.
  enum class Bound : uint8_t { AtLeast, AtMost };
  Bound bound = Bound::AtLeast;
  double limit = 0;
};

// Reads the budgets of a file in its order; there is at least one. NotFound: the file does not
// exist. InvalidArgument: the file is invalid, and the message names the line of each problem.
Result<std::vector<Budget>> read_budgets(const std::string& path);

// Returns a line for each budget and its result, at most 120 columns wide. A workload that was not
// run is no failure. `all_met` is false when a budget is missed, when one cannot be checked
// although its workload was run, or when nothing was checked.
std::string check_budgets(const Report& report, const std::vector<Budget>& budgets, bool& all_met);

}  // namespace perennial::bench
