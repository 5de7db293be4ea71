#include "cmd/perennial/cluster/node_calls.h"

namespace perennial::tool {

Result<std::string> ask_node(const perenniald::ClusterConfig& /*cluster*/,
                             const std::string& /*address*/, const std::string& /*path*/,
                             int64_t /*seconds_max*/) {
  return Status(StatusCode::Unsupported, "this perennial was built without clusters");
}

}  // namespace perennial::tool
