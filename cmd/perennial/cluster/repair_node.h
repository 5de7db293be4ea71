#pragma once

#include <cstdint>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct ClusterRepairOptions {
  ClusterPlace place;
  std::string node;
  bool end = false;
  uint64_t wait_s = 0;  // 0: the command does not wait.
};

// perennial cluster repair: a node gets a copy of another node's database.
Status cluster_repair(const ClusterRepairOptions& options);
Subcommand cluster_repair_command(ClusterRepairOptions& options);

}  // namespace perennial::tool
