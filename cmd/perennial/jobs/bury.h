#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct BuryOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  std::optional<uint64_t> priority;  // None: each job keeps its own.
};

// perennial bury: buries ready and delayed jobs.
Status bury(const BuryOptions& options);
Subcommand bury_command(BuryOptions& options);

}  // namespace perennial::tool
