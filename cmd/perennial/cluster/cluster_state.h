#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cmd/perennial/cluster/etcd_calls.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/cluster/keys.h"
#include "store/cluster/maintenance.h"
#include "store/cluster/records.h"
#include "store/etcd/etcd.h"

namespace perennial::tool {

using store::cluster::entries_behind_max;

inline constexpr uint64_t election_window_s = 600;
// So many elections in that time are too many: nodes take the lead from each other.
inline constexpr size_t elections_warned = 3;

// What etcd holds of a cluster, all of one revision. What is left of leases is asked for right
// after.
struct ClusterState {
  std::string id;  // Empty: etcd holds no such cluster.
  store::etcd::Revision id_revision = 0;
  std::string origin;  // The identity of the directory that the log begins with. Empty: none.
  BatchIndex base = 0;
  uint64_t epoch = 0;
  store::etcd::Revision epoch_revision = 0;
  std::optional<store::cluster::LeaderRecord> leader;
  store::etcd::Revision leader_revision = 0;  // 0: there is no leader.
  std::vector<store::cluster::NodeRecord> nodes;
  std::vector<store::cluster::CopyRecord> copies;  // Nodes that come in.
  // Nodes that hold what the log does not, and have ended for it.
  std::vector<store::cluster::RefusalRecord> refusals;
  store::cluster::Maintenance maintenance;
  std::map<std::string, int64_t> resigned_left_s;  // For how long each resigned node still is.
  int64_t paused_left_s = 0;                       // For how long takeovers are still paused.
  std::set<std::string> repairs;  // Nodes that were asked to get a copy, and have not begun.
  store::cluster::ElectionTimes elections;
  BatchIndex first = 0;  // Of the log's entries; 0: it has none.
  BatchIndex last = 0;   // The end of the log: the base, where it has no entry.
  uint64_t entries = 0;

  uint64_t behind(const store::cluster::NodeRecord& node) const {
    return last > node.applied ? last - node.applied : 0;
  }
  // Whether it is a standby that would serve soon after it was elected.
  bool may_lead(const store::cluster::NodeRecord& node) const {
    return maintenance.may_campaign(node) && behind(node) < entries_behind_max;
  }
  // By how many seconds a node's wall clock is ahead of the cluster's time, which its leader has
  // told. Both were told within a second or two. None: one of them is not told.
  std::optional<int64_t> clock_ahead_s(const store::cluster::NodeRecord& node) const;
  // How many nodes were elected in the last election_window_s, as far as the nodes' clocks say. 0
  // if no node is there.
  size_t recent_elections() const;
  // The names of the node's settings that are others than the leader's.
  std::vector<std::string> settings_differ(const store::cluster::NodeRecord& node) const;
  // Null: there is none.
  const store::cluster::NodeRecord* find_node(const std::string& name) const;
};

Result<ClusterState> read_cluster_state(EtcdCalls& etcd, const store::cluster::Keys& keys);

// A log that begins anew, after the last batch of a data directory.
struct NewLog {
  std::string id;
  std::string origin;
  BatchIndex base = 0;
  uint64_t epoch = 0;  // The highest that was ever given. 0: none.
};
// Puts a log into etcd in the place of `seen`, if that has not changed and no node leads. Deletes
// the entries of an earlier one. Conflict is an InvalidArgument.
Status begin_log(EtcdCalls& etcd, const store::cluster::Keys& keys, const ClusterState& seen,
                 const NewLog& log);

// 128 random bits: the identity of a cluster or of a request.
std::string random_identity();

}  // namespace perennial::tool
