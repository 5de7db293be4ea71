#pragma once

#include <cstdint>
#include <string>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"

namespace perennial::tool {

// GET `path` at a node's peer address, and returns what it answers. It asks as other nodes do, by
// the settings peer_*. `seconds_max`: how long the answer may take.
// InvalidArgument: the file has no token. Io: the node cannot be reached, does not answer in time,
// or answers with an error, which is the message. Unsupported: the program was built without
// clusters. Safe on any thread.
Result<std::string> ask_node(const perenniald::ClusterConfig& cluster, const std::string& address,
                             const std::string& path, int64_t seconds_max);

}  // namespace perennial::tool
