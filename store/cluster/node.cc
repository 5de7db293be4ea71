#include "store/cluster/node.h"

#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/cluster/entry.h"
#include "store/cluster/timing.h"
#include "store/types/cluster_name.h"

// A node while it follows and leads. join.cc has how it joins, upkeep.cc what it does each second.
namespace perennial::store::cluster {
namespace {

// A standby stops reading entries when so many bytes wait to be applied, and goes on below half.
constexpr size_t passed_bytes_max = 32 << 20;

LeaderRecord leader_record(const NodeOptions& options) {
  return {.node = options.node,
          .directory = options.directory,
          .client_address = options.client_address,
          .peer_address = options.peer_address,
          .boot = options.boot,
          .reads_forward_header = options.reads_forward_header};
}

}  // namespace

Node::Node(etcd::Executor& executor, etcd::Client& client, NodeOptions options,
           LocalPosition holding, Events events)
    : executor_(executor),
      client_(client),
      options_(std::move(options)),
      keys_(options_.cluster),
      start_position_(std::move(holding)),
      events_(std::move(events)),
      cluster_id_(start_position_.cluster_id),
      applied_(start_position_.index),
      flushed_(start_position_.index),
      log_(options_.trim),
      lease_(executor, client, options_.lease_s,
             {.granted = [this](etcd::LeaseId lease) { on_granted(lease); },
              .lost =
                  [this](std::string why) {
                    if (won_) return lose(std::move(why));
                    election_.stop();
                    has_lease_ = false;
                    join_again();
                  },
              .failed = events_.failed}),
      follower_(executor, client, keys_,
                {.entry = [this](BatchIndex index,
                                 std::string bytes) { on_entry(index, std::move(bytes)); },
                 .current = [this] { on_current(); },
                 .finished = [this] { on_finished(); },
                 .behind = [this](BatchIndex) { on_behind(); },
                 .other_history = [this](const Status& why) { refuse_history(why); },
                 .failed = events_.failed}),
      election_(executor, client, keys_, leader_record(options_),
                {.won = [this](const Election::Won& won) { on_won(won); },
                 .lost = [this](std::string why) { lose(std::move(why)); },
                 .leader = [this](const auto& leader) { on_leader(leader); },
                 .outrun = events_.outrun,
                 .abstains = events_.abstains,
                 .failed = events_.failed}),
      appender_(executor, client, keys_,
                {.committed = [this](BatchIndex index) { on_committed(index); },
                 .lost = [this](std::string why) { lose(std::move(why)); },
                 .failed = events_.failed,
                 .waits = events_.waits}) {
  CHECK(is_cluster_name(options_.cluster));
  CHECK(is_cluster_name(options_.node));
}

void Node::start() {
  join();
}

void Node::on_entry(BatchIndex index, std::string bytes) {
  if (log_.last() + 1 != index) log_.reset(index - 1);
  log_.add(index, bytes.size());
  passed_.push_back({.index = index, .bytes = bytes.size()});
  passed_bytes_ += bytes.size();
  // A node that was elected does not pause: it must read to the end of the log before it serves.
  if (passed_bytes_ > passed_bytes_max && !won_) {
    waits_for_replica_ = true;
    is_current_ = false;
    update_readiness();
    follower_.pause();
  }
  events_.entry(index, std::move(bytes));
}

void Node::set_progress(BatchIndex applied, BatchIndex flushed) {
  CHECK(applied >= applied_);
  applied_ = applied;
  flushed_ = flushed;
  while (!passed_.empty() && passed_.front().index <= applied) {
    passed_bytes_ -= passed_.front().bytes;
    passed_.pop_front();
  }
  if (ended_) return;
  if (waits_for_replica_ && passed_bytes_ < passed_bytes_max / 2) {
    waits_for_replica_ = false;
    if (!won_) follower_.resume();
  }
  lead_if_applied();
}

void Node::on_current() {
  if (role_ == Role::Joining) role_ = Role::Standby;
  is_current_ = true;
  update_readiness();
}

// A node may lead when it is current, has its name to itself, has heard the others, and knows the
// time; and, if that is asked for, has the settings of the last leader. One with the priority 0
// never does, and one that is about to get another database does not any more.
void Node::update_readiness() {
  const bool may_lead_by_settings = differing_.empty() || !options_.refuses_other_settings;
  const bool has_heard_others = unheard_ && unheard_->empty();
  election_.set_ready(options_.priority != 0 && !repair_ && is_current_ && !waits_for_replica_ &&
                      node_revision_ != 0 && has_heard_others && may_lead_by_clock_ &&
                      may_lead_by_settings);
}

// Called whenever the records of the other nodes were read. A clock that is ahead would end delays
// and expiries that have days to go, and nobody could take that back. A clock that is behind does
// no harm: time goes on from the newest batch.
//
// If no node knows the cluster's time, all nodes may have been started together. Clocks are then
// compared at the second call, after an interval in which the others could publish theirs.
void Node::check_clock() {
  const Nanos wall = executor_.wall();
  const std::optional<Nanos> time = time_.at(executor_.now());
  const Nanos ahead = time ? wall - *time : ahead_of_median(wall, clocks_of_others_);
  const bool is_first = !std::exchange(compares_clocks_, true);
  may_lead_by_clock_ = time || (!is_first && ahead <= options_.clock_offset_max);
  events_.clock({.ahead = ahead, .may_lead = may_lead_by_clock_ || is_first});
}

void Node::on_leader(const std::optional<LeaderRecord>& leader) {
  if (leader && first_leader_epoch_ == 0) first_leader_epoch_ = leader->epoch;
  events_.leader(leader);
}

void Node::heard_in_log(Nanos time, uint64_t epoch) {
  const Nanos now = executor_.now();
  heard_in_log_ = {.time = time, .epoch = epoch, .at = now};
  if (time_.at(now)) time_.on_heard(time, epoch, now);
}

void Node::on_behind() {
  const auto say = [this] {
    end();
    lease_.revoke();  // The directory that follows has another identity.
    events_.behind();
  };
  if (!won_) return say();
  // Won an election, and yet the log was trimmed past what this node holds. Others have the
  // entries, so one of them shall lead.
  election_.resign({}, say);
}

void Node::on_won(const Election::Won& won) {
  won_ = won;
  waits_for_replica_ = false;
  follower_.finish();
}

void Node::on_finished() {
  last_ = follower_.next() - 1;
  newest_hash_ = follower_.hash();
  tail_is_read_ = true;
  lead_if_applied();
}

void Node::lead_if_applied() {
  if (!tail_is_read_ || role_ == Role::Leader || applied_ != last_) return;
  role_ = Role::Leader;
  may_hand_over_at_ = executor_.now() + (won_->is_named ? space_handover_interval : 0);
  if (log_.last() != last_) log_.reset(last_);
  appender_.lead(won_->token, last_, last_ == base_);
  poll_members();
  const Nanos now = executor_.now();
  // Nobody has told the time. An entry may be as old as the time for which all nodes were stopped,
  // and then wall clocks count: unless this node has seen its leader, or an earlier one, lead.
  const bool is_of_now =
      heard_in_log_ && first_leader_epoch_ != 0 && heard_in_log_->epoch >= first_leader_epoch_;
  if (!time_.at(now) && is_of_now)
    time_.on_heard(heard_in_log_->time, heard_in_log_->epoch, heard_in_log_->at);
  takeover_time_ =
      cluster::takeover_time(time_.at(now), executor_.wall(), options_.clock_offset_max);
  set_time(takeover_time_.time);
  events_.elected(won_->epoch, last_);
}

void Node::append(BatchIndex index, std::string bytes) {
  if (ended_) return;
  CHECK(role_ == Role::Leader);
  const BatchIndex trim = log_.trim_before(flushed_by_all());
  trimming_ = trim == log_.first() ? 0 : trim;
  if (others_read_chains_) bytes = chain_entry(bytes, newest_hash_);
  newest_hash_ = hash_of_entry(bytes);
  log_.add(index, bytes.size());
  appender_.append(index, std::move(bytes), trimming_);
  update_puts();
}

void Node::on_committed(BatchIndex index) {
  if (trimming_ != 0) log_.trimmed(trimming_);
  events_.committed(index);
}

std::vector<BatchIndex> Node::flushed_by_all() const {
  std::vector<BatchIndex> flushed = flushed_by_others_;
  flushed.push_back(flushed_);
  return flushed;
}

// Also called after each append: a fast producer writes far more than `log_bytes_max` in the second
// between two reads of the other nodes' records.
void Node::update_puts() {
  Puts puts = log_.must_hold_puts(flushed_by_all()) ? Puts::Held : Puts::Accepted;
  if (!etcd_has_space_) puts = Puts::Refused;
  if (std::exchange(puts_, puts) != puts) events_.puts(puts);
}

void Node::leave(std::function<void()> done) {
  const bool led = won_.has_value();
  follower_.stop();
  appender_.stop();
  ended_ = true;
  const auto give_up_lease = [this, done = std::move(done)] {
    lease_.revoke();
    done();
  };
  if (led && election_.leads()) {
    return election_.resign(handover_ ? handover_->to : std::string(), give_up_lease);
  }
  election_.stop();
  give_up_lease();
}

void Node::end() {
  ended_ = true;
  follower_.stop();
  appender_.stop();
  election_.stop();
}

void Node::lose(std::string why) {
  if (ended_) return;
  end();
  events_.lost(std::move(why));
}

void Node::refuse(StatusCode code, std::string why) {
  if (ended_) return;
  end();
  lease_.revoke();
  events_.refused({code, std::move(why)});
}

void Node::refuse_history(const Status& why) {
  if (ended_) return;
  constexpr std::string_view way_out =
      "etcd was restored from an older snapshot, or its log belongs to another history; `perennial "
      "cluster recover` makes this directory the beginning of a new log, and etc/docs/cluster.md "
      "says what it cannot know";
  end();
  Status refused(why.code(), fmt::format("{}: {}", why.message(), way_out));
  etcd::Transaction tell;
  const RefusalRecord record = {.node = options_.node,
                                .directory = options_.directory,
                                .version = options_.version,
                                .holds = newest(),
                                .why = why.message()};
  tell.then.emplace_back(etcd::Put{.key = keys_.refusal(options_.node), .value = encode(record)});
  client_.commit(std::move(tell), executor_.now() + call_timeout,
                 [this, refused = std::move(refused)](const auto& outcome) {
                   const auto* failure = std::get_if<etcd::Failure>(&outcome);
                   if (failure != nullptr) events_.failed(*failure);
                   lease_.revoke();
                   events_.refused(refused);
                 });
}

void Node::after(Nanos delay, void (Node::*step)()) {
  executor_.after(delay, [this, step] {
    if (!ended_) (this->*step)();
  });
}

}  // namespace perennial::store::cluster
