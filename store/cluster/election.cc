#include "store/cluster/election.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <variant>

#include "engine/types/check.h"
#include "store/cluster/timing.h"

namespace perennial::store::cluster {

using etcd::Compare;

Election::Election(etcd::Executor& executor, etcd::Client& client, const Keys& keys,
                   LeaderRecord me, Events events)
    : executor_(executor),
      client_(client),
      keys_(keys),
      me_(std::move(me)),
      events_(std::move(events)) {}

void Election::start(etcd::LeaseId lease) {
  CHECK(lease != 0);
  CHECK(!won_);
  ++generation_;
  lease_ = lease;
  read_periodically();
}

void Election::read_periodically() {
  read_keys();
  after(reread_interval, &Election::read_periodically);
}

void Election::stop() {
  ++generation_;
  lease_ = 0;
  won_.reset();
  leader_.reset();
  if (watch_ != 0) client_.cancel_watch(std::exchange(watch_, 0));
}

void Election::set_ready(bool ready) {
  if (std::exchange(ready_, ready) == ready || !ready || lease_ == 0) return;
  read_keys();
}

void Election::leader_has_ended(uint64_t epoch) {
  if (lease_ == 0 || won_ || !leader_ || leader_->epoch != epoch) return;
  leader_ended_ = true;
  if (ready_) campaign_after(ended_delay());
}

void Election::resign(const std::string& next, std::function<void()> done) {
  CHECK(won_);
  etcd::Transaction give_up;
  give_up.conditions = {
      {.key = keys_.leader(), .field = Compare::Field::ModRevision, .number = won_->token}};
  give_up.then.emplace_back(etcd::Delete{{.key = keys_.leader(), .end = {}}});
  if (!next.empty()) give_up.then.emplace_back(etcd::Put{.key = keys_.next(), .value = next});
  stop();
  client_.commit(std::move(give_up), executor_.now() + call_timeout,
                 [done = std::move(done)](const auto&) { done(); });
}

void Election::read_keys() {
  ++reading_;
  etcd::Transaction read;
  read.then.emplace_back(etcd::Get{.range = {.key = keys_.leader(), .end = {}}});
  read.then.emplace_back(etcd::Get{.range = {.key = keys_.epoch(), .end = {}}});
  read.then.emplace_back(etcd::Get{.range = etcd::keys_with_prefix(keys_.nodes())});
  read.then.emplace_back(etcd::Get{.range = {.key = keys_.next(), .end = {}}});
  read.then.emplace_back(etcd::Get{.range = {.key = keys_.base(), .end = {}}});
  read.then.emplace_back(etcd::Get{.range = etcd::keys_with_prefix(keys_.refusals())});
  std::ranges::move(maintenance_reads(keys_), std::back_inserter(read.then));
  read.then.emplace_back(etcd::Get{.range = {.key = keys_.elections(), .end = {}}});
  client_.commit(std::move(read), executor_.now() + call_timeout,
                 [this, generation = generation_, reading = reading_](const auto& outcome) {
                   if (generation == generation_ && reading == reading_) on_read(outcome);
                 });
}

void Election::on_read(const etcd::Outcome<etcd::TransactionDone>& outcome) {
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    events_.failed(*failure);
    return after(retry_delay, &Election::read_keys);
  }
  const auto& seen = std::get<etcd::TransactionDone>(outcome);
  CHECK(seen.gets.size() == 9);  // In the order of read_keys().
  const std::vector<etcd::KeyValue>& leader = seen.gets[0].keys;
  const std::vector<etcd::KeyValue>& epoch = seen.gets[1].keys;
  const etcd::Revision revision = leader.empty() ? 0 : leader[0].mod_revision;
  if (revision != leader_revision_) leader_ended_ = false;
  leader_revision_ = revision;
  leader_lease_ = leader.empty() ? 0 : leader[0].lease;
  leader_ = leader.empty() ? std::nullopt : decode_leader(leader[0].value);
  epoch_ = epoch.empty() ? 0 : decode_number(epoch[0].value).value_or(0);
  epoch_revision_ = epoch.empty() ? 0 : epoch[0].mod_revision;
  nodes_.clear();
  for (const etcd::KeyValue& node : seen.gets[2].keys) {
    if (std::optional<NodeRecord> record = decode_node(node.value)) nodes_.push_back(*record);
  }
  next_ = seen.gets[3].keys.empty() ? std::string() : seen.gets[3].keys[0].value;
  const std::vector<etcd::KeyValue>& base = seen.gets[4].keys;
  base_ = base.empty() ? 0 : decode_number(base[0].value).value_or(0);
  refusals_.clear();
  for (const etcd::KeyValue& refusal : seen.gets[5].keys) {
    if (std::optional<RefusalRecord> record = decode_refusal(refusal.value)) {
      refusals_.push_back(*std::move(record));
    }
  }
  maintenance_ = maintenance_of(keys_, seen.gets, 6);
  const std::vector<etcd::KeyValue>& elections = seen.gets[8].keys;
  elections_ = elections.empty() ? ElectionTimes() : decode_elections(elections[0].value);
  if (watch_ == 0) watch(seen.revision + 1);
  decide();
}

void Election::decide() {
  if (won_) {
    if (leader_revision_ == won_->token) return;
    stop();
    return events_.lost("another node leads, or this node's lease is over");
  }
  if (leader_revision_ != 0 && leader_lease_ == lease_) {
    // An earlier campaign whose outcome was unknown has won: the key belongs to the lease of this
    // very process.
    return win(leader_revision_, leader_ ? leader_->epoch : epoch_);
  }
  if (!reported_ || *reported_ != leader_) {
    reported_ = leader_;
    events_.leader(leader_);
  }
  if (!ready_) return;
  if (leader_revision_ == 0) return campaign_after(turn_delay());
  const bool was_this_node =
      leader_ && leader_->directory == me_.directory && is_same_boot(leader_->boot, me_.boot);
  // Nobody else campaigns while the key of this node's former process is there, so no delay.
  if (was_this_node) return campaign();
  if (leader_ended_) campaign_after(ended_delay());
}

void Election::watch(etcd::Revision from) {
  const etcd::KeyRange range = {.key = keys_.leader(), .end = {}};
  watch_ =
      client_.watch(range, from, [this, generation = generation_](const etcd::WatchReport& report) {
        if (generation != generation_) return;
        if (const auto* events = std::get_if<etcd::WatchEvents>(&report)) {
          if (!events->events.empty()) read_keys();
          return;
        }
        watch_ = 0;
        events_.failed(
            {.message = "watching the leader: " + std::get<etcd::WatchEnded>(report).message});
        after(retry_delay, &Election::read_keys);
      });
}

size_t Election::place() const {
  const auto rank = [](const NodeRecord& node) {
    return std::tuple(node.is_damaged, !node.has_space, ~node.priority, ~node.applied,
                      std::string_view(node.node));
  };
  const auto mine = std::ranges::find(nodes_, me_.directory, &NodeRecord::directory);
  if (mine == nodes_.end()) return nodes_.size();
  return static_cast<size_t>(std::ranges::count_if(nodes_, [&](const auto& node) {
    return maintenance_.may_campaign(node) && rank(node) < rank(*mine);
  }));
}

Nanos Election::turn_delay() const {
  if (next_ == me_.node) return 0;
  const auto next = std::ranges::find(nodes_, next_, &NodeRecord::node);
  const bool is_next_live = !next_.empty() && next != nodes_.end() && maintenance_.may_lead(*next);
  return static_cast<Nanos>(place()) * place_delay + (is_next_live ? next_delay : 0) + space_wait();
}

Nanos Election::ended_delay() const {
  const auto mine = std::ranges::find(nodes_, me_.directory, &NodeRecord::directory);
  if (mine == nodes_.end()) return 0;
  const auto preferred = std::ranges::count_if(nodes_, [&](const NodeRecord& node) {
    return maintenance_.may_campaign(node) && node.has_space == mine->has_space &&
           node.priority > mine->priority;
  });
  return static_cast<Nanos>(preferred) * place_delay + space_wait();
}

Nanos Election::space_wait() const {
  const auto mine = std::ranges::find(nodes_, me_.directory, &NodeRecord::directory);
  if (mine == nodes_.end() || mine->has_space) return 0;
  const bool has_other = std::ranges::any_of(nodes_, [&](const NodeRecord& node) {
    return maintenance_.may_campaign(node) && node.has_space;
  });
  return has_other ? space_delay : 0;
}

void Election::campaign_after(Nanos delay) {
  executor_.after(delay, [this, generation = generation_, reading = reading_] {
    if (generation == generation_ && reading == reading_ && ready_ && !won_) campaign();
  });
}

Election::Claim Election::newest_claim() const {
  Claim newest;
  const auto take = [&newest](const std::string& node, BatchIndex index) {
    if (index > newest.index) newest = {.node = node, .index = index};
  };
  for (const NodeRecord& node : nodes_) take(node.node, node.applied);
  for (const RefusalRecord& refusal : refusals_) take(refusal.node, refusal.holds);
  return newest;
}

std::optional<Election::Abstention> Election::abstention() const {
  if (maintenance_.resigned.contains(me_.node)) return Abstention::Resigned;
  if (!maintenance_.may_lead_in_pause(me_.directory)) return Abstention::Paused;
  return std::nullopt;
}

// No watch tells when the reason ends, so the keys are read again.
void Election::read_later() {
  executor_.after(publish_interval, [this, generation = generation_, reading = reading_] {
    if (generation == generation_ && reading == reading_) this->read_keys();
  });
}

void Election::campaign() {
  if (const std::optional<Abstention> why = abstention()) {
    events_.abstains(*why);
    return read_later();
  }
  campaigns_as_named_ = next_ == me_.node;
  LeaderRecord record = me_;
  record.epoch = epoch_ + 1;
  etcd::Transaction elect;
  elect.conditions = {
      {.key = keys_.leader(), .field = Compare::Field::ModRevision, .number = leader_revision_},
      {.key = keys_.epoch(), .field = Compare::Field::ModRevision, .number = epoch_revision_},
      {.key = keys_.resignation(me_.node), .field = Compare::Field::Version, .number = 0},
      {.key = keys_.pause(),
       .field = Compare::Field::ModRevision,
       .number = maintenance_.pause_revision}};
  // A log that was begun from a directory has no entry for its base, so that is not compared.
  const Claim claim = newest_claim();
  const etcd::KeyRange claimed = {.key = keys_.entry(claim.index), .end = {}};
  if (claim.index > base_) {
    elect.conditions.push_back({.key = claimed.key,
                                .field = Compare::Field::Version,
                                .is = Compare::Is::NotEqual,
                                .number = 0});
    elect.otherwise.emplace_back(etcd::Get{.range = claimed, .keys_only = true});
  }
  elect.then.emplace_back(
      etcd::Put{.key = keys_.leader(), .value = encode(record), .lease = lease_});
  elect.then.emplace_back(etcd::Put{.key = keys_.epoch(), .value = encode(record.epoch)});
  elect.then.emplace_back(etcd::Put{.key = keys_.elections(), .value = encode(with_this_one())});
  elect.then.emplace_back(etcd::Delete{{.key = keys_.next(), .end = {}}});
  client_.commit(
      std::move(elect), executor_.now() + call_timeout,
      [this, generation = generation_, epoch = record.epoch, claim](const auto& outcome) {
        if (generation == generation_) on_campaigned(epoch, claim, outcome);
      });
}

ElectionTimes Election::with_this_one() const {
  ElectionTimes times = elections_;
  times.push_back(static_cast<uint64_t>(executor_.wall() / nanos_per_ms));
  if (times.size() > election_times_max) times.erase(times.begin());
  return times;
}

void Election::on_campaigned(uint64_t epoch, const Claim& claim,
                             const etcd::Outcome<etcd::TransactionDone>& outcome) {
  if (won_) return;
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    events_.failed(*failure);
    return after(retry_delay, &Election::read_keys);
  }
  const auto& done = std::get<etcd::TransactionDone>(outcome);
  if (!done.held) {
    const bool is_outrun = !done.gets.empty() && done.gets[0].keys.empty();
    if (!is_outrun) return read_keys();  // Another node was faster.
    // The log does not hold the claimed entry. Or it held it and was trimmed after the node had
    // published its index, which is old then; the node publishes again within a second.
    events_.outrun(claim);
    return after(publish_interval, &Election::read_keys);
  }
  win(done.revision, epoch);
}

void Election::win(etcd::Revision token, uint64_t epoch) {
  ++reading_;  // An answer to a read from before the election must not end the leadership.
  won_ = Won{.token = token, .epoch = epoch, .is_named = campaigns_as_named_};
  leader_ = me_;
  leader_->epoch = epoch;
  leader_revision_ = token;
  leader_lease_ = lease_;
  events_.won(*won_);
}

void Election::after(Nanos delay, void (Election::*step)()) {
  executor_.after(delay, [this, step, generation = generation_] {
    if (generation == generation_) (this->*step)();
  });
}

}  // namespace perennial::store::cluster
