#include "tests/store/cluster/simulated_node.h"

#include <utility>

#include <fmt/format.h>

#include "engine/types/transition.h"
#include "store/batch/batch.h"
#include "store/batch/batch_codec.h"

namespace perennial::store::cluster {
namespace {

// Of the last election.
uint64_t newest_epoch(support::FakeEtcd& etcd) {
  const auto found =
      std::get<etcd::Found>(etcd.model().get({.range = {.key = Keys("jobs").epoch(), .end = {}}}));
  return found.keys.empty() ? 0 : decode_number(found.keys[0].value).value_or(0);
}

constexpr Nanos apply_time = nanos_per_ms;
constexpr Nanos flush_interval = 100 * nanos_per_ms;
constexpr Nanos hand_out_interval = 20 * nanos_per_ms;

}  // namespace

LocalPosition SimulatedDisk::holding() const {
  if (entries.empty()) return {.cluster_id = cluster_id};
  const Result<Batch> last_batch = decode_batch(entries.rbegin()->second);
  return {.cluster_id = cluster_id, .index = last_batch->index(), .now = last_batch->now()};
}

std::string entry_bytes(uint64_t epoch, BatchIndex index, Nanos now, const std::string& name) {
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = name});
  batch.seal({.epoch = epoch, .index = index, .known_durable = 0, .now = now});
  std::string bytes;
  encode_batch(batch, bytes);
  return bytes;
}

SimulatedNode::SimulatedNode(World world, NodeOptions options, SimulatedDisk& disk)
    : world_(std::move(world)),
      options_(std::move(options)),
      disk_(disk),
      process_(world_.time.add_node()),
      client_(world_.etcd.connect(process_)),
      begun_(process_.now()),
      seen_(disk.last()) {
  if (world_.wrap) client_ = world_.wrap(std::move(client_));
  options_.directory = disk.directory;
  if (!disk.entries.empty()) last_epoch_ = decode_batch(disk.entries.rbegin()->second)->epoch();
  node_ = std::make_unique<Node>(process_, *client_, options_, disk.holding(), events());
  process_.post([this] { node_->start(); });
  flush_later();
}

SimulatedNode::~SimulatedNode() {
  kill();
}

void SimulatedNode::kill() {
  process_.kill();
  client_.reset();
  node_.reset();
}

Node::Events SimulatedNode::events() {
  Node::Events events;
  events.adopt = [this](const std::string& id) {
    disk_.cluster_id = id;
    return Status();
  };
  events.entry = [this](BatchIndex index, std::string bytes) { on_entry(index, std::move(bytes)); };
  events.elected = [this](uint64_t epoch, BatchIndex last) {
    if (last != disk_.last()) fault_ = fmt::format("elected at {} with {}", last, disk_.last());
    const Acknowledged& all = world_.acknowledged;
    // A node that stood still may learn of its election when another one leads and has written. Its
    // lease is over then, and it can append nothing.
    const bool is_newest = epoch == newest_epoch(world_.etcd);
    if (is_newest && !all.empty() && all.rbegin()->first > last) {
      fault_ = fmt::format("elected at {}, and {} was acknowledged", last, all.rbegin()->first);
    }
    epoch_ = epoch;
    time_offset_ = node_->takeover_time().time - process_.now();
    if (world_.plant == Plant::TakeoverAddsUptime) time_offset_ += process_.now() - begun_;
    if (disk_.is_damaged) return process_.post([this] { give_up(); });
    write_next();
    hand_out_always();
  };
  events.committed = [this](BatchIndex index) {
    world_.acknowledged.emplace(index, appended_.at(index));
    keep(index, appended_.at(index));
    appended_.erase(index);
    process_.after(world_.write_gap, [this] {
      is_appending_ = false;
      handing_over_ ? leave_if_idle() : write_next();
    });
  };
  events.leader = [this](const std::optional<LeaderRecord>& leader) {
    leader_ = leader;
    ++leaders_told_;
  };
  events.puts = [this](Puts puts) { puts_ = puts; };
  events.hand_over = [this](const std::string& to, HandoverCause cause) {
    handovers_.push_back(to);
    handover_cause_ = cause;
    handing_over_ = true;
    if (world_.hands_over) world_.hands_over(epoch_, to);
    process_.post([this] { leave_if_idle(); });
  };
  events.declined = [this](std::string why) { declined_ = std::move(why); };
  events.behind = [this] { is_behind_ = true; };
  events.replace = [this] { is_replaced_ = true; };
  events.standbys = [this](const Node::Standbys& standbys) { standbys_ = standbys; };
  events.outrun = [this](const Election::Claim& claim) { outrun_ = claim; };
  events.repair = [this](const std::string& id) { repair_ = id; };
  events.abstains = [this](Election::Abstention why) { abstention_ = why; };
  events.lost = [this](std::string why) { lost_ = std::move(why); };
  events.refused = [this](Status status) { refused_ = std::move(status); };
  events.failed = [](const etcd::Failure&) {};
  events.waits = [this](std::optional<etcd::CallError> waits_for) { waits_ = waits_for; };
  events.reads_batches = [this](uint8_t format) { others_read_ = format; };
  events.alarms = [this](const EtcdAlarms& alarms) { alarms_ = alarms; };
  events.settings_differ = [this](const auto& names) { settings_differ_ = names; };
  events.clock = [this](const WallClock& clock) { clock_ = clock; };
  return events;
}

void SimulatedNode::on_entry(BatchIndex index, std::string bytes) {
  const Result<Batch> batch = decode_batch(bytes);
  if (!batch.ok()) {
    fault_ = batch.status().message();
  } else if (index != seen_ + 1 || batch->index() != index) {
    fault_ =
        fmt::format("entry {} holds batch {} and comes after {}", index, batch->index(), seen_);
  } else if (batch->epoch() < last_epoch_) {
    fault_ = fmt::format("entry {} has epoch {} after {}", index, batch->epoch(), last_epoch_);
  } else {
    last_epoch_ = batch->epoch();
    if (world_.plant != Plant::EntriesTellNoTime) node_->heard_in_log(batch->now(), batch->epoch());
  }
  seen_ = index;
  process_.after(apply_time, [this, index, kept = std::move(bytes)]() mutable {
    keep(index, std::move(kept));
  });
}

void SimulatedNode::keep(BatchIndex index, std::string bytes) {
  const bool skips = world_.plant == Plant::SkipsAnEntry && !leads() && index % 100 == 0;
  if (!skips) disk_.entries[index] = std::move(bytes);
  node_->set_progress(disk_.last(), disk_.flushed);
}

void SimulatedNode::flush_later() {
  process_.after(flush_interval, [this] {
    disk_.flushed = disk_.last();
    look_at_disk();
    node_->set_progress(disk_.last(), disk_.flushed);
    flush_later();
  });
}

// What the server's store would tell.
void SimulatedNode::look_at_disk() {
  if (std::exchange(has_space_, disk_.has_space) != disk_.has_space) {
    node_->set_space(disk_.has_space);
  }
  const bool is_known = disk_.is_damaged && disk_.is_noticed;
  const bool is_planted =
      world_.plant == Plant::DamageNotTold || world_.plant == Plant::DamagedStandsAgain;
  if (!is_known || is_damaged_ || is_planted) return;
  is_damaged_ = true;
  node_->set_damaged();
}

// It could not load its jobs. Its next start gets a copy.
void SimulatedNode::give_up() {
  if (has_ended()) return;
  handing_over_ = true;
  node_->leave([this] {
    if (world_.plant == Plant::DamagedStandsAgain) {
      lost_ = "cannot load";
    } else {
      is_replaced_ = true;
    }
  });
}

// As a server hands over: what it has sent is committed first.
void SimulatedNode::leave_if_idle() {
  if (is_appending_ || has_ended()) return;
  is_appending_ = true;
  node_->leave([this] { lost_ = "handed over"; });
}

void SimulatedNode::write_always(bool writes) {
  writes_ = writes;
  write_next();
}

// As the server does: before anything leaves the process the lease is looked at.
void SimulatedNode::hand_out_always() {
  if (!leads() || has_ended()) return;
  if (process_.now() >= node_->held_until() && world_.plant != Plant::LeaseNotLookedAt) {
    lost_ = "the lease is over";
    return;
  }
  world_.hand_out(epoch_);
  process_.after(hand_out_interval, [this] { hand_out_always(); });
}

void SimulatedNode::write_next() {
  if (!writes_ || is_appending_ || !leads()) return;
  const BatchIndex index = disk_.last() + 1;
  std::string bytes =
      entry_bytes(epoch_, index, time(), fmt::format("{}-{}", options_.node, process_.now()));
  appended_[index] = bytes;
  if (world_.appends) {
    world_.appends(disk_.entries.empty() ? std::string() : disk_.entries.rbegin()->second, bytes);
  }
  if (world_.plant == Plant::AnswersBeforeTheCommit) world_.acknowledged.emplace(index, bytes);
  is_appending_ = true;
  process_.post([this, index, sent = std::move(bytes)]() mutable {
    if (!has_ended()) node_->append(index, std::move(sent));
  });
}

}  // namespace perennial::store::cluster
