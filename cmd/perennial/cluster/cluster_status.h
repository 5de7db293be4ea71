#pragma once

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct ClusterStatusOptions {
  ClusterPlace place;
  bool json = false;
};

// perennial cluster status: what etcd holds of a cluster, and how its members are. Prints it to
// standard output. Returns the exit status: 1 if something needs somebody.
Result<int> cluster_status(const ClusterStatusOptions& options);
Subcommand cluster_status_command(ClusterStatusOptions& options);

}  // namespace perennial::tool
