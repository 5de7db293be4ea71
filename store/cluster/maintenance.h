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

// What operators have asked for that limits who may lead. The keys belong to leases that nobody
// renews, so that a request expires even if everybody has forgotten it.
struct Maintenance {
  std::set<std::string> resigned;  // Nodes that do not lead for a while.
  // Who may lead while takeovers are paused. None although is_paused(): its text cannot be read,
  // and nobody is elected.
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
  // A node that is joining cannot lead yet, and a leader does not campaign.
  bool may_campaign(const NodeRecord& node) const {
    return node.role == Role::Standby && may_lead(node);
  }
};

// The operations that read these keys, for a transaction.
std::vector<etcd::Operation> maintenance_reads(const Keys& keys);
// Decodes their results, of which the first is `gets[first]`.
Maintenance maintenance_of(const Keys& keys, const std::vector<etcd::Found>& gets, size_t first);

}  // namespace perennial::store::cluster
