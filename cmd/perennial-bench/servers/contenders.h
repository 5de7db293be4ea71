#pragma once

#include <string>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/servers/fresh_server.h"
#include "engine/types/status.h"

namespace perennial::bench {

// A server to measure.
struct Contender {
  std::string name;         // The name in reports.
  bool is_started = false;  // Whether the bench starts it anew for each round.
  common::Address address;  // The address of a server that runs already.
  Launch launch;            // How to start a server that does not run.
};

// The servers of --against, or the server of --server. InvalidArgument: the options are invalid.
Result<std::vector<Contender>> contenders_of(const BenchOptions& options);

}  // namespace perennial::bench
