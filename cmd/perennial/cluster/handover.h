#pragma once

#include <cstdint>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct HandoverOptions {
  ClusterPlace place;
  std::string to;  // Empty: the standby that comes first.
  uint64_t wait_s = 30;
};

// perennial cluster handover: asks the leader to give up the lead, and waits for the next one.
Status cluster_handover(const HandoverOptions& options);
Subcommand cluster_handover_command(HandoverOptions& options);

}  // namespace perennial::tool
