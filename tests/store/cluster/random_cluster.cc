#include "tests/store/cluster/random_cluster.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/batch/batch_codec.h"
#include "store/cluster/entry.h"
#include "store/cluster/keys.h"
#include "store/cluster/records.h"

namespace perennial::store::cluster {
namespace {

using support::EtcdFaults;

constexpr Nanos second = nanos_per_second;

EtcdFaults faults_with(RandomCluster::Leases leases) {
  EtcdFaults faults = EtcdFaults::all();
  if (leases == RandomCluster::Leases::Hold) {
    faults.short_leases_per_mille = 0;
    faults.lease_ended_every = 0;
  }
  return faults;
}

}  // namespace

RandomCluster::RandomCluster(uint64_t seed, Plants plants, Leases leases)
    : random_(seed),
      time_(seed),
      etcd_(time_, {.seed = seed, .faults = faults_with(leases)}),
      plants_(std::move(plants)),
      leases_(leases),
      operator_(time_.add_node()),
      client_(etcd_.connect(operator_)) {
  for (size_t i = 0; i < node_count; ++i) {
    disks_[i].directory = fmt::format("directory-{}", i);
    start(i);
  }
}

std::string RandomCluster::run(Nanos time) {
  const Nanos end = time_.now() + time;
  while (time_.now() < end) {
    time_.run_for(static_cast<Nanos>(random_() % (2 * second)));
    act();
    if (std::string broken = check(); !broken.empty()) return broken;
  }
  return {};
}

std::string RandomCluster::catch_up() {
  etcd_.heal();
  for (const auto& node : nodes_) {
    if (node->process().is_paused()) node->process().resume();
  }
  const Nanos end = time_.now() + 60 * second;
  while (time_.now() < end) {
    time_.run_for(second);
    if (std::string broken = check(); !broken.empty()) return broken;
    restart_ended();
  }
  for (const auto& node : nodes_) node->write_always(false);
  time_.run_for(10 * second);
  if (std::string broken = check(); !broken.empty()) return broken;
  return compare();
}

void RandomCluster::start(size_t i) {
  NodeOptions options;
  options.cluster = "jobs";
  options.node = fmt::format("node-{}", i);
  options.format = newest_format;
  options.lease_s = 5;
  options.new_cluster_id = fmt::format("id-of-{}", i);
  // Small enough for entries to be trimmed, and large enough that who was away can follow.
  options.trim = {.copies_min = 2, .keep_bytes = 200'000, .bytes_max = 300'000};
  if (trims_at_one_copy()) options.trim = {.copies_min = 1, .keep_bytes = 0, .bytes_max = 0};
  nodes_[i].reset();
  const SimulatedNode::World world = {.time = time_,
                                      .etcd = etcd_,
                                      .acknowledged = acknowledged_,
                                      .write_gap = 10 * nanos_per_ms,
                                      .hand_out = [this](uint64_t epoch) { on_hand_out(epoch); },
                                      .wrap = plants_.wrap,
                                      .plant = plants_.node};
  nodes_[i] = std::make_unique<SimulatedNode>(world, std::move(options), disks_[i]);
  nodes_[i]->write_always(true);
}

void RandomCluster::restart_ended() {
  for (size_t i = 0; i < node_count; ++i) {
    if (nodes_[i]->has_ended()) start(i);
  }
}

void RandomCluster::act() {
  const size_t i = random_() % node_count;
  auto& process = nodes_[i]->process();
  switch (random_() % 13) {
    case 0:
      nodes_[i]->kill();
      return start(i);
    case 1:
      nodes_[i]->kill();
      disks_[i].lose_power();
      return start(i);
    case 2:
      return process.is_paused() ? process.resume() : process.pause();
    case 3:
      if (process.is_paused()) process.resume();
      return;
    case 4:
      return leases_ == Leases::Hold ? restart_ended() : report_end(i);
    case 5:
      return ask_to_hand_over(i);
    default:
      return restart_ended();
  }
}

// The others believe that the leader's process has ended, rightly or not: that costs it the lead
// and nothing else.
void RandomCluster::report_end(size_t i) {
  for (const auto& node : nodes_) {
    if (node->has_ended()) continue;
    node->process().post([&node, epoch = nodes_[i]->epoch()] {
      if (!node->has_ended()) node->node().leader_has_ended(epoch);
    });
  }
}

// Of the epoch that was seen last, which may be over.
void RandomCluster::ask_to_hand_over(size_t to) {
  const HandoverRecord asked = {.epoch = epoch_, .to = fmt::format("node-{}", to)};
  etcd::Transaction ask;
  ask.then.emplace_back(etcd::Put{.key = Keys("jobs").handover(), .value = encode(asked)});
  client_->commit(std::move(ask), operator_.now() + second, [](const auto&) {});
}

std::string RandomCluster::check() {
  for (const auto& node : nodes_) {
    if (!node->fault().empty()) return node->fault();
    if (node->refused()) return node->refused()->message();
    if (node->is_behind() && !trims_at_one_copy()) return "a node is behind the trim";
    epoch_ = std::max(epoch_, node->epoch());
  }
  if (!handed_out_by_two_.empty()) return handed_out_by_two_;
  return check_log();
}

// C5: while one leader hands out, no other has been elected.
void RandomCluster::on_hand_out(uint64_t epoch) {
  if (leases_ == Leases::Break) return;
  const auto found = std::get<etcd::Found>(
      etcd_.model().get({.range = {.key = Keys("jobs").leader(), .end = {}}}));
  if (found.keys.empty()) return;
  const uint64_t elected = decode_leader(found.keys[0].value)->epoch;
  if (elected > epoch) {
    handed_out_by_two_ =
        fmt::format("the leader of epoch {} hands out after the election of {}", epoch, elected);
  }
}

// C1: what is no longer in the log, whose first entry is `first`, is on two disks.
std::string RandomCluster::check_copies(BatchIndex first) const {
  const auto has_flushed = [&](const SimulatedDisk& disk) { return disk.flushed + 1 >= first; };
  if (std::ranges::count_if(disks_, has_flushed) >= 2) return {};
  return fmt::format("entries before {} were trimmed, and are not on two disks", first);
}

// C2: no entry was written twice, and none by a leader after another was elected.
std::string RandomCluster::check_log() {
  const Keys keys("jobs");
  const auto keys_of = [this](etcd::Get request) {
    return std::get<etcd::Found>(etcd_.model().get(request)).keys;
  };
  for (const etcd::KeyValue& leader : keys_of({.range = {.key = keys.leader(), .end = {}}})) {
    elections_[decode_leader(leader.value)->epoch] = leader.mod_revision;
  }
  BatchIndex first = 0;  // 0: the log is empty.
  for (const etcd::KeyValue& entry : keys_of({.range = keys.entries_from(0), .keys_only = true})) {
    if (entry.version != 1) return fmt::format("{} was written {} times", entry.key, entry.version);
    const BatchIndex index = *keys.index_of(entry.key);
    if (first == 0) first = index;
  }
  if (std::string broken = check_copies(first); !broken.empty()) return broken;
  for (const etcd::KeyValue& entry : keys_of({.range = keys.entries_from(checked_ + 1)})) {
    checked_ = *keys.index_of(entry.key);
    const auto next = elections_.upper_bound(decode_entry(entry.value)->epoch());
    if (next != elections_.end() && next->second < entry.create_revision) {
      return fmt::format("entry {} was written by a leader that was overtaken", checked_);
    }
  }
  return {};
}

std::string RandomCluster::compare() const {
  const auto leads = [](const auto& node) { return node->leads() && !node->has_ended(); };
  if (std::ranges::count_if(nodes_, leads) != 1) return "there is not one leader in the end";
  for (const SimulatedDisk& disk : disks_) {
    if (disk.last() != disks_[0].last()) return "the nodes are not at the same entry in the end";
    if (disk.entries.size() != disk.last()) return fmt::format("{} has a gap", disk.directory);
    for (const auto& [index, bytes] : disk.entries) {
      if (disks_[0].entries.at(index) != bytes) return fmt::format("entry {} differs", index);
    }
    for (const auto& [index, bytes] : acknowledged_) {
      const auto at = disk.entries.find(index);
      if (at == disk.entries.end() || at->second != bytes) {
        return fmt::format("entry {} was acknowledged, and {} does not have it", index,
                           disk.directory);
      }
    }
  }
  return {};
}

}  // namespace perennial::store::cluster
