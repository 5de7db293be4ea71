#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct KickOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  std::string tube;  // Instead of ids, together with one of the next two.
  std::optional<uint64_t> count = {};
  bool all = false;  // Perennial only, as are the states and ranges of these jobs.
  std::optional<std::string> states = {};
  std::optional<std::string> match = {};
};

// perennial kick: makes buried and delayed jobs ready.
Status kick(const KickOptions& options);
Subcommand kick_command(KickOptions& options);

}  // namespace perennial::tool
