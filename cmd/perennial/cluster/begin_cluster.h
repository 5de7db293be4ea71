#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct ClusterInitOptions {
  ClusterPlace place;
  std::string data_dir;
};

// perennial cluster init: makes the directory of a single server the beginning of a cluster.
//
// etcd gets the cluster first, with the identity of the directory (`origin`), and then the
// directory gets the cluster's id. After a crash between the two no node can lead: an empty
// directory lacks what is before the base, and this one has no id. The command, run again, knows
// the directory by its identity and does the second step. In the other order a directory with an id
// that etcd does not know would look like one whose etcd was lost.
Status cluster_init(const ClusterInitOptions& options);
Subcommand cluster_init_command(ClusterInitOptions& options);

}  // namespace perennial::tool
