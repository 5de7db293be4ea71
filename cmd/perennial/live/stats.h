#pragma once

#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct StatsOptions {
  std::string server{default_server};
  std::string tube;             // Of this tube and not of the server.
  std::optional<uint64_t> job;  // Likewise of this job.
  bool json = false;
};

// perennial stats: what a running server says of itself, of a tube or of a job.
Status stats(const StatsOptions& options);
Subcommand stats_command(StatsOptions& options);

}  // namespace perennial::tool
