#pragma once

#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct FlushOptions {
  ServerAddress server = {};
  std::string tube;
  std::optional<std::string> states = {};
  std::optional<std::string> match = {};
};

// perennial flush: deletes the jobs of a tube.
Status flush(const FlushOptions& options);
Subcommand flush_command(FlushOptions& options);

}  // namespace perennial::tool
