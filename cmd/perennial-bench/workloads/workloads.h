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

// The work with one server in one round. The server is fresh if the bench started it.
struct Task {
  std::string name;  // "put 50x1"
  // The task takes long because it fills the server. One round is the default.
  bool fills = false;
  // The task reads the server's process or directory, or kills the server. It therefore needs a
  // server that the bench started.
  bool needs_own_server = false;
  uint64_t connections = 0;  // The number of connections that are open at once.
  std::function<Status(Subject&, Findings&)> run = {};
};

// The tasks for the workloads in the options. InvalidArgument: a workload does not exist, or an
// option does not apply to it.
Result<std::vector<Task>> tasks_of(const BenchOptions& options);

}  // namespace perennial::bench
