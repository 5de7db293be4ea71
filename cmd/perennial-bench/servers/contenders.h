#pragma once

#include <string>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/servers/fresh_server.h"
#include "engine/types/status.h"

namespace perennial::bench {

// A server to be measured.
struct Contender {
  std::string name;         // As reports call it.
  bool is_started = false;  // By us, each time anew.
  common::Address address;  // Of one that runs already.
  Launch launch;            // Of one that we start.
};

// Those of --against, or the one of --server. InvalidArgument: the options make no sense.
Result<std::vector<Contender>> contenders_of(const BenchOptions& options);

}  // namespace perennial::bench
