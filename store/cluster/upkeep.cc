#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "engine/types/later.h"
#include "store/cluster/entry.h"
#include "store/cluster/node.h"
#include "store/cluster/timing.h"

// What a node does each second: it publishes its record, reads those of the others, and decides
// whether it hands over as the leader: because it is asked to, because its disk is full and another
// is not, or because its database is damaged. Every five seconds it maintains etcd: it compacts the
// history, and reads the size of the database and the alarms.
namespace perennial::store::cluster {

using etcd::Compare;

// For how many leases a node waits until the others have written their records, and compares its
// clock with those of others that are starting, too.
constexpr int64_t hear_patience_leases = 2;
// For how many leases a node waits while its name is taken, before it gives up: when another node
// has the name, and when that node has this one's address, so that it may be its former process.
constexpr int64_t other_node_leases = 3;
constexpr int64_t former_node_leases = 60;

namespace {

uint64_t to_ms(Nanos time) {
  return static_cast<uint64_t>(time / nanos_per_ms);
}

Nanos from_ms(uint64_t milliseconds) {
  constexpr auto most = static_cast<uint64_t>(last_time / nanos_per_ms);
  return static_cast<Nanos>(std::min(milliseconds, most)) * nanos_per_ms;
}

}  // namespace

NodeRecord Node::record() const {
  const Nanos time = time_.at(executor_.now()).value_or(0);
  return {.node = options_.node,
          .directory = options_.directory,
          .client_address = options_.client_address,
          .peer_address = options_.peer_address,
          .version = options_.version,
          .role = role_,
          .format = options_.format,
          .applied = applied_,
          .flushed = flushed_,
          .boot = options_.boot,
          .clock_ms = to_ms(executor_.wall()),
          .time_ms = to_ms(time),
          .time_epoch = time_.epoch(),
          .has_space = has_space_,
          .is_damaged = is_damaged_,
          .reaches_leader = role_ == Role::Leader ? std::nullopt : reaches_leader_,
          .priority = options_.priority,
          .puts = role_ == Role::Leader ? std::string(puts_name(puts_)) : std::string(),
          .settings = settings_};
}

// The key is written only if it is unchanged since it was read, so that a second node with the same
// name is noticed.
void Node::publish() {
  if (lease_.id() == 0) return after(publish_interval, &Node::publish);
  etcd::Transaction write;
  const std::string key = keys_.node(options_.node);
  write.conditions = {{.key = key, .field = Compare::Field::ModRevision, .number = node_revision_}};
  write.then.emplace_back(etcd::Put{.key = key, .value = encode(record()), .lease = lease_.id()});
  write.then.emplace_back(etcd::Get{.range = etcd::keys_with_prefix(keys_.nodes())});
  write.then.emplace_back(etcd::Get{.range = {.key = keys_.handover(), .end = {}}});
  std::ranges::move(maintenance_reads(keys_), std::back_inserter(write.then));
  write.then.emplace_back(etcd::Get{.range = etcd::keys_with_prefix(keys_.repairs())});
  write.otherwise.emplace_back(etcd::Get{.range = {.key = key, .end = {}}});
  client_.commit(std::move(write), executor_.now() + call_timeout, [this](const auto& outcome) {
    if (!ended_) on_published(outcome);
  });
}

void Node::on_published(const etcd::Outcome<etcd::TransactionDone>& outcome) {
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    events_.failed(*failure);
    return after(publish_interval, &Node::publish);
  }
  const auto& done = std::get<etcd::TransactionDone>(outcome);
  // Revisions only grow, unless etcd was restored from an older snapshot. A leader notices by its
  // next append.
  const bool has_gone_back = done.revision < std::exchange(revision_, done.revision);
  if (has_gone_back && !won_) {
    time_.forget_epoch();
    unheard_.reset();
    join_again();
  }
  if (!done.held) return on_other_name(done);
  CHECK(done.gets.size() == 5);
  node_revision_ = done.revision;
  name_taken_since_ = 0;
  maintenance_ = maintenance_of(keys_, done.gets, 2);
  on_nodes(done.gets[0]);
  hear_others(done.gets[0]);
  check_clock();
  update_readiness();
  if (role_ == Role::Leader) {
    handle_handover(done.gets[1]);
    handle_resignation();
    hand_over_for_space();
    events_.standbys(standbys());
  }
  handle_repair(done.gets[4]);
  if (!ended_) handle_damage(done.gets[4]);
  if (ended_) return;
  after(publish_interval, &Node::publish);
}

void Node::on_other_name(const etcd::TransactionDone& done) {
  const auto& keys = done.gets[0].keys;
  const std::optional<NodeRecord> other = keys.empty() ? std::nullopt : decode_node(keys[0].value);
  const bool is_own_directory = other && other->directory == options_.directory;
  if (!other || (is_own_directory && is_same_boot(other->boot, options_.boot))) {
    // The key is gone, or was written by this directory: by a former process, or by a write whose
    // outcome was unknown.
    node_revision_ = keys.empty() ? 0 : keys[0].mod_revision;
    // The former process knew the cluster's time, which the next write replaces.
    if (other) learn_time(*other);
    return after(retry_delay, &Node::publish);
  }
  // The other one may be a former process of this node, from before its directory was replaced. It
  // then has this node's address, and its lease expires soon. But each election of etcd's leader
  // renews all leases, so the lease may last as long as such elections follow each other.
  const bool is_former = is_own_directory || other->client_address == options_.client_address;
  const int64_t leases = is_former ? former_node_leases : other_node_leases;
  const Nanos patience = leases * options_.lease_s * nanos_per_second;
  if (name_taken_since_ == 0) name_taken_since_ = executor_.now();
  if (executor_.now() - name_taken_since_ > patience) {
    return refuse(StatusCode::InvalidArgument, other_node_message(*other));
  }
  after(publish_interval, &Node::publish);
}

std::string Node::other_node_message(const NodeRecord& other) const {
  if (other.directory != options_.directory) {
    return fmt::format(
        "another node of cluster {} is called {}: it has another data directory, and clients reach "
        "it at {}; give each node a name of its own (`cluster.node`)",
        options_.cluster, options_.node, other.client_address);
  }
  return fmt::format(
      "another machine has a copy of this data directory, and runs as node {} of cluster {}: "
      "clients "
      "reach it at {}; stop one of the two, empty its directory, and give it a name of its own "
      "(`cluster.node`)",
      options_.node, options_.cluster, other.client_address);
}

void Node::on_nodes(const etcd::Found& nodes) {
  others_.clear();
  flushed_by_others_.clear();
  clocks_of_others_.clear();
  others_read_chains_ = true;
  uint32_t others_read = newest_format;
  for (const etcd::KeyValue& key : nodes.keys) {
    const std::optional<NodeRecord> other = decode_node(key.value);
    if (!other || other->node == options_.node) continue;
    // A node whose directory is a clone of this one is no second copy of the entries.
    if (other->directory != options_.directory) flushed_by_others_.push_back(other->flushed);
    others_read_chains_ = others_read_chains_ && other->format >= chained_entry_format;
    others_read = std::min(others_read, other->format);
    learn_time(*other);
    if (leads(*other)) leader_settings_ = other->settings;
    // All nodes may have been started together, and this one may be the first that has the log. But
    // one that is still joining later may wait for this one to lead, and its clock may be behind.
    const bool counts = other->role != Role::Joining || !has_heard_for_long();
    if (other->clock_ms != 0 && counts) clocks_of_others_.push_back(from_ms(other->clock_ms));
    others_.push_back(*other);
  }
  compare_settings();
  const auto format = static_cast<uint8_t>(others_read);
  if (std::exchange(others_read_, format) != format) events_.reads_batches(format);
  if (role_ == Role::Leader) update_puts();
}

// After a start, and after etcd was restored, what it says of the others may be old: of a time
// before an outage that they have lived through. They know better what the time is and whether they
// hold more than the log, and say so as soon as etcd answers them, which may be a second after it
// has answered this node. One that is gone leaves etcd with its lease.
void Node::hear_others(const etcd::Found& nodes) {
  std::map<std::string, etcd::Revision> revisions;
  for (const etcd::KeyValue& key : nodes.keys) {
    if (key.key != keys_.node(options_.node)) revisions.emplace(key.key, key.mod_revision);
  }
  if (!unheard_) {
    unheard_ = std::move(revisions);
    unheard_since_ = executor_.now();
    return;
  }
  std::erase_if(*unheard_, [&](const auto& other) {
    const auto now = revisions.find(other.first);
    return now == revisions.end() || now->second != other.second;
  });
  // A lease may be renewed by a node that can write nothing, and by each election of etcd's leader.
  if (has_heard_for_long()) unheard_->clear();
}

bool Node::has_heard_for_long() const {
  const Nanos patience = hear_patience_leases * options_.lease_s * nanos_per_second;
  return unheard_ && executor_.now() - unheard_since_ > patience;
}

Node::Standbys Node::standbys() const {
  Standbys out = {.has_successor = successor(false).has_value()};
  for (const NodeRecord& other : others_) {
    if (other.role != Role::Standby) continue;
    ++out.count;
    if (log_.last() > other.applied) out.lag = std::max(out.lag, log_.last() - other.applied);
  }
  return out;
}

bool Node::leads(const NodeRecord& other) const {
  return election_.leader() && election_.leader()->node == other.node;
}

// In an earlier version only the leader publishes the time, without the epoch.
void Node::learn_time(const NodeRecord& other) {
  if (other.time_ms == 0) return;
  const uint64_t epoch =
      other.time_epoch == 0 && leads(other) ? election_.leader()->epoch : other.time_epoch;
  time_.on_heard(from_ms(other.time_ms), epoch, executor_.now());
}

// While nobody leads, the settings of the last leader count, so that a node whose settings are
// corrected then may lead.
void Node::compare_settings() {
  std::vector<std::string> names;
  if (role_ != Role::Leader) names = differing(settings_, leader_settings_);
  if (std::exchange(differing_, names) != names) events_.settings_differ(names);
}

// A request to another leader is stale and is removed, and so is one that cannot be read. A delete
// whose outcome is unknown does no harm, because the request names the epoch that it is for.
void Node::handle_handover(const etcd::Found& handover) {
  if (handover.keys.empty()) return;
  remove(handover.keys[0]);
  const std::optional<HandoverRecord> asked = decode_handover(handover.keys[0].value);
  if (!asked || asked->epoch != won_->epoch) return;
  consider_handover(*asked);
}

void Node::consider_handover(const HandoverRecord& asked) {
  if (maintenance_.is_paused()) return events_.declined("takeovers are paused");
  const auto to = std::ranges::find(others_, asked.to, &NodeRecord::node);
  if (to != others_.end() && !maintenance_.may_lead(*to)) {
    return events_.declined(
        asked.to + (to->never_leads() ? " never leads: its priority is 0" : " has resigned"));
  }
  hand_over(asked, HandoverCause::Asked);
}

// Whoever asks in etcd has looked before whether another node may lead.
void Node::ask_handover() {
  after(handover_delay, &Node::hand_over_as_asked);
}

void Node::hand_over_as_asked() {
  if (role_ != Role::Leader) return;
  if (!successor(false)) return events_.declined("no standby that may lead is up to date");
  consider_handover({.epoch = won_->epoch, .to = {}});
}

// `perennial cluster resign` has checked that another node may lead. While takeovers are paused no
// other may, so this leader stays.
void Node::handle_resignation() {
  if (!maintenance_.resigned.contains(options_.node) || maintenance_.is_paused()) return;
  hand_over({.epoch = won_->epoch, .to = {}}, HandoverCause::Resigned);
}

// A repair throws the database of this node away. So a node that is alone, or that holds more than
// the others, waits until one of them holds as much, and a leader hands over first.
void Node::handle_repair(const etcd::Found& repairs) {
  const auto mine =
      std::ranges::find(repairs.keys, keys_.repair(options_.node), &etcd::KeyValue::key);
  const bool is_asked = mine != repairs.keys.end();
  // This node has accepted the request before, with an unknown outcome: the key is gone, so that
  // has succeeded.
  if (repair_ && (!is_asked || mine->value != *repair_)) return begin_repair();
  if (!is_asked || !has_copy_elsewhere(repairs)) return;
  if (role_ == Role::Standby && !won_) return take_repair(*mine);
  const bool may_hand_over = std::ranges::any_of(others_, [&](const NodeRecord& other) {
    return maintenance_.may_campaign(other) && other.has_copy_for(applied_);
  });
  if (role_ != Role::Leader || !may_hand_over) return;
  hand_over({.epoch = won_->epoch, .to = {}}, HandoverCause::Repair);
}

// A node that is to be repaired itself does not count.
bool Node::has_copy_elsewhere(const etcd::Found& repairs) const {
  return std::ranges::any_of(others_, [&](const NodeRecord& other) {
    const auto asked =
        std::ranges::find(repairs.keys, keys_.repair(other.node), &etcd::KeyValue::key);
    return asked == repairs.keys.end() && other.directory != options_.directory &&
           !other.is_damaged && other.has_copy_for(applied_);
  });
}

void Node::take_repair(const etcd::KeyValue& request) {
  repair_ = request.value;
  update_readiness();
  etcd::Transaction take;
  take.conditions = {
      {.key = request.key, .field = Compare::Field::ModRevision, .number = request.mod_revision}};
  take.then.emplace_back(etcd::Delete{{.key = request.key, .end = {}}});
  client_.commit(std::move(take), executor_.now() + call_timeout, [this](const auto& outcome) {
    if (ended_) return;
    // The outcome is unknown. handle_repair() sees it at the next publication.
    if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) return events_.failed(*failure);
    if (std::get<etcd::TransactionDone>(outcome).held) return begin_repair();
    repair_.reset();  // The request was withdrawn, or made anew.
    update_readiness();
  });
}

// The lease is revoked first, because the directory with the copy has another identity and the same
// name: the key of this process would keep it out.
void Node::begin_repair() {
  end();
  lease_.revoke([this] { events_.repair(*repair_); });
}

void Node::remove(const etcd::KeyValue& key) {
  etcd::Transaction deletion;
  deletion.conditions = {
      {.key = key.key, .field = Compare::Field::ModRevision, .number = key.mod_revision}};
  deletion.then.emplace_back(etcd::Delete{{.key = key.key, .end = {}}});
  client_.commit(std::move(deletion), executor_.now() + call_timeout, [this](const auto& outcome) {
    const auto* failure = std::get_if<etcd::Failure>(&outcome);
    if (failure != nullptr && !ended_) events_.failed(*failure);
  });
}

// Hands over when puts are refused for want of space here, and another node has space.
void Node::hand_over_for_space() {
  if (has_space_ || executor_.now() < may_hand_over_at_) return;
  const std::optional<NodeRecord> to = successor(true);
  if (to) hand_over({.epoch = won_->epoch, .to = to->node}, HandoverCause::NoSpace);
}

// Lagging standbys do not count: their takeover would take long.
std::optional<NodeRecord> Node::successor(bool needs_space) const {
  std::optional<NodeRecord> first;
  const auto rank = [](const NodeRecord& node) {
    return std::tuple(node.has_space, node.priority, node.applied);
  };
  for (const NodeRecord& other : others_) {
    const bool is_up_to_date = other.applied + entries_behind_max > log_.last();
    const bool is_well = !other.is_damaged && (other.has_space || !needs_space);
    if (!maintenance_.may_campaign(other) || !is_up_to_date || !is_well) continue;
    if (!first || rank(other) > rank(*first)) first = other;
  }
  return first;
}

// A standby leaves to get a copy of another database at once. A leader hands over first. Where
// nobody can take over it goes on serving, since the jobs that it has in memory are whole.
void Node::handle_damage(const etcd::Found& repairs) {
  if (!is_damaged_) return;
  if (role_ == Role::Leader) {
    const std::optional<NodeRecord> to = successor(false);
    if (to) hand_over({.epoch = won_->epoch, .to = to->node}, HandoverCause::Damaged);
    return;
  }
  if (won_ || !has_copy_elsewhere(repairs)) return;
  end();
  lease_.revoke([this] { events_.replace(); });  // The directory that follows has another identity.
}

void Node::hand_over(HandoverRecord to, HandoverCause cause) {
  if (handover_) return;
  handover_ = std::move(to);
  events_.hand_over(handover_->to, cause);
}

void Node::upkeep() {
  if (maintains_etcd()) {
    if (options_.compacts_etcd) compact();
    poll_members();
  }
  after(upkeep_interval, &Node::upkeep);
}

// The leader maintains etcd. While nobody leads all nodes do, because in an etcd without space
// nobody can be elected.
bool Node::maintains_etcd() const {
  return role_ == Role::Leader || !election_.leader();
}

// The current revision is taken from a read and not from this node's own writes, because an etcd
// without space takes no writes, and compaction is what makes space.
void Node::compact() {
  etcd::Get read = {.range = {.key = keys_.leader(), .end = {}}, .keys_only = true};
  client_.get(std::move(read), executor_.now() + call_timeout, [this](const auto& outcome) {
    if (ended_) return;
    const auto* failure = std::get_if<etcd::Failure>(&outcome);
    if (failure != nullptr) return events_.failed(*failure);
    compact_to(std::get<etcd::Found>(outcome).revision);
  });
}

// Compacts to the revision that was the newest one at the last call, five seconds ago: no watch
// that keeps up needs older ones. The history also grows without appends, by the records of the
// nodes. The minimum is for an etcd that was restored, whose revision has gone back.
void Node::compact_to(etcd::Revision newest) {
  const etcd::Revision compacted = std::min(std::exchange(compact_next_, newest), newest);
  if (compacted == 0) return;
  client_.compact(compacted, executor_.now() + call_timeout, [this](const auto& outcome) {
    const auto* failure = std::get_if<etcd::Failure>(&outcome);
    // It was compacted already, by a former leader or by somebody else: no failure.
    if (failure != nullptr && failure->error != etcd::CallError::Compacted && !ended_) {
      events_.failed(*failure);
    }
  });
}

// Asks all members of etcd, because any of them may be etcd's leader or short of space.
void Node::poll_members() {
  if (members_asked_ != 0) return;
  members_.clear();
  members_asked_ = client_.members();
  for (size_t member = 0; member < client_.members(); ++member) {
    client_.member_status(member, executor_.now() + call_timeout,
                          [this, member](const auto& outcome) {
                            if (!ended_) on_member_status(member, outcome);
                          });
  }
}

void Node::on_member_status(size_t member, const etcd::Outcome<etcd::MemberStatus>& outcome) {
  if (const auto* status = std::get_if<etcd::MemberStatus>(&outcome)) {
    if (status->is_leader && role_ == Role::Leader) client_.prefer(member);
    members_.push_back(*status);
  }
  if (--members_asked_ == 0) check_members();
}

// Puts are refused while the database of a member is above three quarters of its quota. Past the
// quota of one of them etcd takes no entry at all, and deletes are entries, too.
void Node::check_members() {
  if (members_.empty()) return;  // No member has answered.
  std::set<etcd::Alarm> alarms;
  bool has_space = true;
  for (const etcd::MemberStatus& member : members_) {
    alarms.insert(member.alarms.begin(), member.alarms.end());
    const auto bytes = static_cast<uint64_t>(member.database_bytes);
    has_space = has_space && bytes < options_.etcd_quota_bytes / 4 * 3;
  }
  const auto count = [&](etcd::Alarm::Kind kind) {
    return static_cast<size_t>(std::ranges::count(alarms, kind, &etcd::Alarm::kind));
  };
  const EtcdAlarms raised = {.no_space = count(etcd::Alarm::Kind::NoSpace),
                             .corrupt = count(etcd::Alarm::Kind::Corrupt)};
  etcd_has_space_ = has_space && raised.no_space == 0;
  if (role_ == Role::Leader) update_puts();
  events_.alarms(raised);
  // The database of a member that does not answer may be as large as ever.
  if (has_space && members_.size() == client_.members()) disarm(alarms);
}

// Called when all databases have space again: an operator has made it. Only NOSPACE is disarmed.
// After CORRUPT somebody has to decide whose data is right.
void Node::disarm(const std::set<etcd::Alarm>& alarms) {
  if (!options_.compacts_etcd || executor_.now() < may_disarm_at_) return;
  for (const etcd::Alarm& alarm : alarms) {
    if (alarm.kind != etcd::Alarm::Kind::NoSpace) continue;
    may_disarm_at_ = executor_.now() + disarm_interval;
    client_.disarm(alarm, executor_.now() + call_timeout, [this](const auto& outcome) {
      if (ended_) return;
      if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) events_.failed(*failure);
      poll_members();
    });
  }
}

}  // namespace perennial::store::cluster
