#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/perennial-bench/report/measures.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "engine/types/status.h"

namespace perennial::bench {

// What a server must reach: next to another server, next to itself in another setting, or by
// itself. etc/bench-budgets.yaml says how it is written.
struct Budget {
  std::string name;
  std::string workload;
  // Left out: the workload has one setting, or one operation, only.
  std::optional<std::string> setting = {};
  std::optional<std::string> operation = {};
  std::string ours;                                 // The server it is about.
  std::optional<std::string> against = {};          // Another server in the same setting.
  std::optional<std::string> against_setting = {};  // Or `ours` in another one.
  std::string measure_name = {};
  Measure measure = {};
  // The bound, of the ratio to what it stands against, or of the value when that is nothing.
  enum class Bound : uint8_t { AtLeast, AtMost };
  Bound bound = Bound::AtLeast;
  double limit = 0;
};

// The budgets of a file, in its order; at least one. NotFound when there is no such file,
// InvalidArgument when something in it is wrong: then the message names the line of each problem.
Result<std::vector<Budget>> read_budgets(const std::string& path);

// A line for each budget and what it came to, at most 120 columns wide. What was not run is no
// fault: `all_met` is false when a budget is missed, when one cannot be checked although its
// workload was run, or when nothing was checked.
std::string check_budgets(const Report& report, const std::vector<Budget>& budgets, bool& all_met);

}  // namespace perennial::bench
