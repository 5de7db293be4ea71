#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"

namespace perennial::tool {

// Which cluster, and where its etcd is: the section `cluster` of a node's configuration, or flags.
struct ClusterPlace {
  std::optional<std::string> config;
  std::vector<std::string> etcd;
  std::string name;
};

// Reads the section. No file is read where flags name the cluster and its etcd, unless one is given
// with --config. InvalidArgument: what is missing or wrong. Unsupported: the program was built
// without clusters.
Result<perenniald::ClusterConfig> cluster_of(const ClusterPlace& place);

// Returns --config, --etcd and --name, followed by a command's other flags.
std::vector<Flag> cluster_flags(ClusterPlace& place, std::vector<Flag> others);

}  // namespace perennial::tool
