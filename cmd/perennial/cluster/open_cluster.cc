#include "cmd/perennial/cluster/open_cluster.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {

using store::cluster::NodeRecord;

Result<OpenCluster> open_cluster(const ClusterPlace& place) {
  Result<perenniald::ClusterConfig> config = cluster_of(place);
  if (!config.ok()) return config.take_status();
  Result<std::unique_ptr<EtcdCalls>> etcd = EtcdCalls::open(*config);
  if (!etcd.ok()) return etcd.take_status();
  const store::cluster::Keys keys(config->name);
  Result<ClusterState> state = read_cluster_state(**etcd, keys);
  if (!state.ok()) return state.take_status();
  return OpenCluster{
      .config = config.take(), .etcd = etcd.take(), .keys = keys, .state = state.take()};
}

Result<NodeRecord> find_node(const ClusterState& state, const std::string& name) {
  if (const NodeRecord* const node = state.find_node(name)) return *node;
  std::vector<std::string> names;
  for (const NodeRecord& other : state.nodes) names.push_back(printable(other.node));
  return Status(StatusCode::InvalidArgument,
                fmt::format("there is no node {}; there are: {}", name, fmt::join(names, ", ")));
}

Status takeovers_are_paused(const ClusterState& state) {
  return {StatusCode::InvalidArgument,
          fmt::format("takeovers are paused for another {}, and nobody else would lead: "
                      "`perennial cluster resume` ends that",
                      duration_text(static_cast<uint64_t>(state.paused_left_s)))};
}

}  // namespace perennial::tool
