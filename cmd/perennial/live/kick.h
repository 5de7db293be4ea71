#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct KickOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  std::string tube;  // Instead of ids, together with the count.
  std::optional<uint64_t> count;
};

// perennial kick: makes buried and delayed jobs ready.
Status kick(const KickOptions& options);
Subcommand kick_command(KickOptions& options);

}  // namespace perennial::tool
