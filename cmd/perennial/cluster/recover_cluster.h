#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct ClusterRecoverOptions {
  ClusterPlace place;
  std::string data_dir;
  bool yes = false;
  bool goes_back = false;  // Also where etcd holds all of the directory's batches, and later ones.
};

// perennial cluster recover: etcd was lost, or restored from an older snapshot, or the cluster goes
// back to a checkpoint. Makes a node's directory the beginning of a new log with a new id.
//
// etcd gets the new log first, then the directory gets its id together with the next id. After a
// crash between the two the directory has the old id, so that its node is refused; the command, run
// again, begins another log.
Status cluster_recover(const ClusterRecoverOptions& options);
Subcommand cluster_recover_command(ClusterRecoverOptions& options);

}  // namespace perennial::tool
