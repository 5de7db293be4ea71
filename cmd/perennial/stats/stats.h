#pragma once

#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct StatsOptions {
  ServerAddress server = {};
  std::string tube;             // Statistics of this tube instead of the server.
  std::optional<uint64_t> job;  // Statistics of this job instead of the server.
  bool json = false;
};

// perennial stats: prints the statistics of a running server, a tube or a job.
Status stats(const StatsOptions& options);
Subcommand stats_command(StatsOptions& options);

}  // namespace perennial::tool
