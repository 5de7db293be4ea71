#pragma once

#include <cstdint>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct ClusterPauseOptions {
  ClusterPlace place;
  uint64_t for_s = 0;
};
struct ClusterResumeOptions {
  ClusterPlace place;
};

// perennial cluster pause: no other node leads for a while, whatever becomes of the leader.
Status cluster_pause(const ClusterPauseOptions& options);
Subcommand cluster_pause_command(ClusterPauseOptions& options);
// perennial cluster resume: ends that.
Status cluster_resume(const ClusterResumeOptions& options);
Subcommand cluster_resume_command(ClusterResumeOptions& options);

}  // namespace perennial::tool
