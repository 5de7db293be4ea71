#pragma once

#include <memory>
#include <string>

#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/cluster_state.h"
#include "cmd/perennial/cluster/etcd_calls.h"
#include "engine/types/status.h"
#include "store/cluster/keys.h"

namespace perennial::tool {

// A cluster as a command finds it.
struct OpenCluster {
  perenniald::ClusterConfig config;
  std::unique_ptr<EtcdCalls> etcd;
  store::cluster::Keys keys;
  ClusterState state;  // When it was opened.

  // Reads it anew.
  Result<ClusterState> read() const { return read_cluster_state(*etcd, keys); }
};

// Errors: those of cluster_of(), EtcdCalls::open() and read_cluster_state().
Result<OpenCluster> open_cluster(const ClusterPlace& place);

// The node of this name. InvalidArgument: it is not there; the message says which are.
Result<store::cluster::NodeRecord> find_node(const ClusterState& state, const std::string& name);

// Why the leader does not give up the lead. REQUIRES: state.maintenance.is_paused().
Status takeovers_are_paused(const ClusterState& state);

}  // namespace perennial::tool
