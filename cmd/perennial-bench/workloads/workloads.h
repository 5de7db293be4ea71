#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/results/findings.h"
#include "cmd/perennial-bench/servers/subject.h"
#include "engine/types/status.h"

namespace perennial::bench {

// What is done with one server in one round. If it may be, the server is fresh.
struct Task {
  std::string name;  // "put 50x1"
  // Takes long, because it fills the server: one round is enough if nothing else is said.
  bool fills = false;
  // Looks at the server's process or directory, or kills it: not for one that is not ours.
  bool needs_own_server = false;
  uint64_t connections = 0;  // That will be open at once.
  std::function<Status(Subject&, Findings&)> run = {};
};

// What is to be done for the workloads that the options name. InvalidArgument: there is no such
// workload, or an option does not go with them.
Result<std::vector<Task>> tasks_of(const BenchOptions& options);

}  // namespace perennial::bench
