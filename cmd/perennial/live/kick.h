#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct KickOptions {
  std::string server{default_server};
  std::vector<std::string> ids;
  std::string tube;  // Instead of ids, with the count.
  std::optional<uint64_t> count;
};

// perennial kick: buried and delayed jobs become ready.
Status kick(const KickOptions& options);
Subcommand kick_command(KickOptions& options);

}  // namespace perennial::tool
