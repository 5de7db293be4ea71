#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/cluster/keys.h"
#include "store/cluster/records.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// What operators have asked for, which says who may lead. Its keys hang on leases that nobody
// renews, so that it ends by itself, also when everybody has forgotten it.
struct Maintenance {
  std::set<std::string> resigned;  // Nodes that do not lead for a while.
  // While takeovers are paused. It may be missing then: its text cannot be read, so nobody is
  // elected.
  std::optional<PauseRecord> pause;
  etcd::Revision pause_revision = 0;  // 0: takeovers are not paused.

  bool is_paused() const { return pause_revision != 0; }
  // Whether the pause lets this data directory lead.
  bool may_lead_in_pause(std::string_view directory) const {
    return !is_paused() || (pause && pause->directory == directory);
  }
  bool may_lead(const NodeRecord& node) const {
    return !node.never_leads() && !resigned.contains(node.node) &&
           may_lead_in_pause(node.directory);
  }
  // A node that joins cannot lead yet, and one that leads does not stand.
  bool may_stand(const NodeRecord& node) const {
    return node.role == Role::Standby && may_lead(node);
  }
};

// The reads, for a transaction.
std::vector<etcd::Operation> maintenance_reads(const Keys& keys);
// From their answers, of which the first is `gets[first]`.
Maintenance maintenance_of(const Keys& keys, const std::vector<etcd::Found>& gets, size_t first);

}  // namespace perennial::store::cluster
