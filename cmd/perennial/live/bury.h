#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct BuryOptions {
  std::string server{default_server};
  std::vector<std::string> ids;
  std::optional<uint64_t> priority;  // Else each keeps its own.
};

// perennial bury: ready and delayed jobs are set aside.
Status bury(const BuryOptions& options);
Subcommand bury_command(BuryOptions& options);

}  // namespace perennial::tool
