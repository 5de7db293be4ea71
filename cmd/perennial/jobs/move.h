#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct MoveOptions {
  ServerAddress server = {};
  std::string from;
  std::string to;
  std::optional<std::string> states = {};
  std::optional<std::string> match = {};
  std::optional<uint64_t> count = {};
};

// perennial move: moves the jobs of a tube to another one.
Status move_jobs(const MoveOptions& options);
Subcommand move_command(MoveOptions& options);

}  // namespace perennial::tool
