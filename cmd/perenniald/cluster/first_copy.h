#pragma once

#include <functional>
#include <string>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// Replaces the database in `data_dir` by a copy of another node's, which the log in etcd reaches.
// It asks the nodes that are in etcd: standbys first, whom a copy costs no client's time, then the
// leader. It goes on until a copy is in its place; no attempt changes what is there before.
// A key in etcd says how far it is: copy_status.h. Returns an error after `cancelled` returned
// true, or if `data_dir` cannot be used at all. `version`: of this program.
//
// REQUIRES: the directory is empty or belongs to the cluster, and nobody has it open.
Status get_copy(const ClusterConfig& config, const std::string& version,
                const std::string& data_dir, const std::function<bool()>& cancelled);

}  // namespace perennial::perenniald
