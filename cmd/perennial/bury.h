#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/perennial/command.h"
#include "cmd/perennial/live.h"

namespace perennial::tool {

struct BuryOptions {
  std::string server{default_server};
  std::vector<std::string> ids;
  std::optional<uint64_t> priority;  // Else each keeps its own.
};

// perennial bury: ready and delayed jobs are set aside.
Status bury(const BuryOptions& options);
Command bury_command(BuryOptions& options);

}  // namespace perennial::tool
