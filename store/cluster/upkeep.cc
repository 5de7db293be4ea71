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

// What a node does each second: it publishes what it holds, and sees what the others hold and, as
// the leader, whether it shall hand over: it is asked, or its disk is full and another's is not, or
// its database is damaged.
// Less often etcd is looked after: its history is compacted, its size and its alarms are looked at.
namespace perennial::store::cluster {

using etcd::Compare;

// For how many leases a node waits while its name is taken, before it gives up: by another node,
// and by one that has its own address.
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

// The key is written only as it was seen last, so that a second node of the same name is noticed.
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
    join_again();
  }
  if (!done.held) return on_other_name(done);
  CHECK(done.gets.size() == 5);
  node_revision_ = done.revision;
  name_taken_since_ = 0;
  maintenance_ = maintenance_of(keys_, done.gets, 2);
  see_nodes(done.gets[0]);
  judge_clock();
  judge_readiness();
  if (role_ == Role::Leader) {
    see_handover(done.gets[1]);
    see_resignation();
    judge_disk();
    events_.has_successor(successor(false).has_value());
  }
  see_repair(done.gets[4]);
  if (!ended_) judge_damage(done.gets[4]);
  if (ended_) return;
  after(publish_interval, &Node::publish);
}

void Node::on_other_name(const etcd::TransactionDone& done) {
  const auto& keys = done.gets[0].keys;
  const std::optional<NodeRecord> other = keys.empty() ? std::nullopt : decode_node(keys[0].value);
  const bool is_own_directory = other && other->directory == options_.directory;
  if (!other || (is_own_directory && is_same_boot(other->boot, options_.boot))) {
    // Gone, or this directory's own: a former process, or a write whose outcome was not known.
    node_revision_ = keys.empty() ? 0 : keys[0].mod_revision;
    // What a former process of this node has told, before it is written over.
    if (other) hear_time(*other);
    return after(retry_delay, &Node::publish);
  }
  // Its lease may be about to end: the directory of this node may have been replaced. Then the
  // other one has this node's address, too. Each election of etcd renews all leases, so such a
  // lease may last as long as elections follow each other.
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

void Node::see_nodes(const etcd::Found& nodes) {
  others_.clear();
  flushed_by_others_.clear();
  clocks_of_others_.clear();
  others_read_chains_ = true;
  for (const etcd::KeyValue& key : nodes.keys) {
    const std::optional<NodeRecord> other = decode_node(key.value);
    if (!other || other->node == options_.node) continue;
    // A copy of this directory under another name tells the time, and is no second disk.
    if (other->directory != options_.directory) flushed_by_others_.push_back(other->flushed);
    others_read_chains_ = others_read_chains_ && other->format >= chained_entry_format;
    hear_time(*other);
    if (leads(*other)) leader_settings_ = other->settings;
    // One that joins may wait for this node.
    const bool counts = other->clock_ms != 0 && other->role != Role::Joining;
    if (counts) clocks_of_others_.push_back(from_ms(other->clock_ms));
    others_.push_back(*other);
  }
  judge_settings();
  if (role_ == Role::Leader) judge_space();
}

bool Node::leads(const NodeRecord& other) const {
  return election_.leader() && election_.leader()->node == other.node;
}

// Of an earlier version only the leader tells the time, and not under whom.
void Node::hear_time(const NodeRecord& other) {
  if (other.time_ms == 0) return;
  const uint64_t epoch =
      other.time_epoch == 0 && leads(other) ? election_.leader()->epoch : other.time_epoch;
  time_.on_heard(from_ms(other.time_ms), epoch, executor_.now());
}

// While nobody leads, what was seen last of a leader counts: a node that is corrected then may
// lead.
void Node::judge_settings() {
  std::vector<std::string> names;
  if (role_ != Role::Leader) names = differing(settings_, leader_settings_);
  if (std::exchange(differing_, names) != names) events_.settings_differ(names);
}

// Whoever may write to etcd may ask for it. What was asked of another leader is done with, and so
// is what cannot be read. A delete without a known outcome does no harm: the epoch is this one's.
void Node::see_handover(const etcd::Found& handover) {
  if (handover.keys.empty()) return;
  remove(handover.keys[0]);
  const std::optional<HandoverRecord> asked = decode_handover(handover.keys[0].value);
  if (!asked || asked->epoch != won_->epoch) return;
  if (maintenance_.is_paused()) return events_.declined("takeovers are paused");
  const auto to = std::ranges::find(others_, asked->to, &NodeRecord::node);
  if (to != others_.end() && !maintenance_.may_lead(*to)) {
    return events_.declined(
        asked->to + (to->never_leads() ? " never leads: its priority is 0" : " has resigned"));
  }
  hand_over(*asked, HandoverCause::Asked);
}

// Whoever has asked for it has seen whether another node may lead. While takeovers are paused none
// may.
void Node::see_resignation() {
  if (!maintenance_.resigned.contains(options_.node) || maintenance_.is_paused()) return;
  hand_over({.epoch = won_->epoch, .to = {}}, HandoverCause::Resigned);
}

// The database of this node is thrown away for it. So a node that is alone, or that holds more than
// the others, waits until one of them has as much, and a leader hands over first.
void Node::see_repair(const etcd::Found& repairs) {
  const auto mine =
      std::ranges::find(repairs.keys, keys_.repair(options_.node), &etcd::KeyValue::key);
  const bool is_asked = mine != repairs.keys.end();
  // It was taken, and the outcome was not known.
  if (repair_ && (!is_asked || mine->value != *repair_)) return begin_repair();
  if (!is_asked || !has_copy_elsewhere(repairs)) return;
  if (role_ == Role::Standby && !won_) return take_repair(*mine);
  const bool may_hand_over = std::ranges::any_of(others_, [&](const NodeRecord& other) {
    return maintenance_.may_stand(other) && other.has_copy_for(applied_);
  });
  if (role_ != Role::Leader || !may_hand_over) return;
  hand_over({.epoch = won_->epoch, .to = {}}, HandoverCause::Repair);
}

// Not one that shall get a copy itself.
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
  judge_readiness();
  etcd::Transaction take;
  take.conditions = {
      {.key = request.key, .field = Compare::Field::ModRevision, .number = request.mod_revision}};
  take.then.emplace_back(etcd::Delete{{.key = request.key, .end = {}}});
  client_.commit(std::move(take), executor_.now() + call_timeout, [this](const auto& outcome) {
    if (ended_) return;
    // What came of it shows when this node publishes again.
    if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) return events_.failed(*failure);
    if (std::get<etcd::TransactionDone>(outcome).held) return begin_repair();
    repair_.reset();  // It was taken back, or asked for anew.
    judge_readiness();
  });
}

// The directory that follows has another identity, and the same name.
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

// Puts are refused here, and another disk has space for them.
void Node::judge_disk() {
  if (has_space_ || executor_.now() < may_hand_over_at_) return;
  const std::optional<NodeRecord> to = successor(true);
  if (to) hand_over({.epoch = won_->epoch, .to = to->node}, HandoverCause::NoSpace);
}

// Where the standbys are behind, a takeover would take long.
std::optional<NodeRecord> Node::successor(bool needs_space) const {
  std::optional<NodeRecord> first;
  const auto rank = [](const NodeRecord& node) {
    return std::tuple(node.has_space, node.priority, node.applied);
  };
  for (const NodeRecord& other : others_) {
    const bool is_up_to_date = other.applied + entries_behind_max > log_.last();
    const bool is_well = !other.is_damaged && (other.has_space || !needs_space);
    if (!maintenance_.may_stand(other) || !is_up_to_date || !is_well) continue;
    if (!first || rank(other) > rank(*first)) first = other;
  }
  return first;
}

// A standby gets another database at once. A leader lets another node lead first; where there is
// none it goes on, since what it has in memory is whole.
void Node::judge_damage(const etcd::Found& repairs) {
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
  if (looks_after_etcd()) {
    if (options_.compacts_etcd) compact();
    look_at_members();
  }
  after(upkeep_interval, &Node::upkeep);
}

// The leader does. While nobody leads, all do: in an etcd without space nobody can be elected.
bool Node::looks_after_etcd() const {
  return role_ == Role::Leader || !election_.leader();
}

// How far etcd is follows from a read, because this node's own writes need not succeed: an etcd
// without space would stay as it is.
void Node::compact() {
  etcd::Get read = {.range = {.key = keys_.leader(), .end = {}}, .keys_only = true};
  client_.get(std::move(read), executor_.now() + call_timeout, [this](const auto& outcome) {
    if (ended_) return;
    const auto* failure = std::get_if<etcd::Failure>(&outcome);
    if (failure != nullptr) return events_.failed(*failure);
    compact_to(std::get<etcd::Found>(outcome).revision);
  });
}

// What was new at the last time is old enough now: no watch that keeps up needs it. Without appends
// the history grows, too: by what the nodes publish. An etcd that was restored has gone back.
void Node::compact_to(etcd::Revision newest) {
  const etcd::Revision compacted = std::min(std::exchange(compact_next_, newest), newest);
  if (compacted == 0) return;
  client_.compact(compacted, executor_.now() + call_timeout, [this](const auto& outcome) {
    const auto* failure = std::get_if<etcd::Failure>(&outcome);
    // Compacted already: by a former leader, or by somebody else.
    if (failure != nullptr && failure->error != etcd::CallError::Compacted && !ended_) {
      events_.failed(*failure);
    }
  });
}

// Asks all members, because any of them may be etcd's leader, and any may be short of space.
void Node::look_at_members() {
  if (members_asked_ != 0) return;
  members_.clear();
  members_asked_ = client_.members();
  for (size_t member = 0; member < client_.members(); ++member) {
    client_.member_status(member, executor_.now() + call_timeout,
                          [this, member](const auto& outcome) {
                            if (!ended_) see_member(member, outcome);
                          });
  }
}

void Node::see_member(size_t member, const etcd::Outcome<etcd::MemberStatus>& outcome) {
  if (const auto* status = std::get_if<etcd::MemberStatus>(&outcome)) {
    if (status->is_leader && role_ == Role::Leader) client_.prefer(member);
    members_.push_back(*status);
  }
  if (--members_asked_ == 0) judge_members();
}

// Puts are refused while the database of a member is above three quarters of its quota. Past the
// quota of one of them etcd takes no entry at all, and deletes are entries, too.
void Node::judge_members() {
  if (members_.empty()) return;  // Nothing is known.
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
  if (role_ == Role::Leader) judge_space();
  events_.alarms(raised);
  // The database of a member that does not answer may be as large as ever.
  if (has_space && members_.size() == client_.members()) disarm(alarms);
}

// An operator has made space. Only that alarm: whose data is right is not for a program to say.
void Node::disarm(const std::set<etcd::Alarm>& alarms) {
  if (!options_.compacts_etcd || executor_.now() < may_disarm_at_) return;
  for (const etcd::Alarm& alarm : alarms) {
    if (alarm.kind != etcd::Alarm::Kind::NoSpace) continue;
    may_disarm_at_ = executor_.now() + disarm_interval;
    client_.disarm(alarm, executor_.now() + call_timeout, [this](const auto& outcome) {
      if (ended_) return;
      if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) events_.failed(*failure);
      look_at_members();
    });
  }
}

}  // namespace perennial::store::cluster
