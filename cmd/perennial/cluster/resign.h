#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct ResignOptions {
  ClusterPlace place;
  std::string node;               // Empty: the leader.
  std::optional<uint64_t> for_s;  // Set, unless `end` is.
  bool end = false;
  bool force = false;
  uint64_t wait_s = 30;
};

// perennial cluster resign: a node does not lead for a while, and hands over if it does.
Status cluster_resign(const ResignOptions& options);
Subcommand cluster_resign_command(ResignOptions& options);

}  // namespace perennial::tool
