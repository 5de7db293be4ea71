#include "tests/store/cluster/random_cluster.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/batch/batch_codec.h"
#include "store/cluster/keys.h"
#include "store/cluster/records.h"

namespace perennial::store::cluster {
namespace {

using support::EtcdFaults;

constexpr Nanos second = nanos_per_second;

}  // namespace

RandomCluster::RandomCluster(uint64_t seed, Plants plants)
    : random_(seed),
      time_(seed),
      etcd_(time_, {.seed = seed, .faults = EtcdFaults::all()}),
      plants_(std::move(plants)) {
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
  options.lease_s = 5;
  options.new_cluster_id = fmt::format("id-of-{}", i);
  // Small enough for entries to be trimmed, and large enough that who was away can follow.
  options.trim = {.copies_min = 2, .keep_bytes = 200'000, .bytes_max = 300'000};
  nodes_[i].reset();
  const SimulatedNode::World world = {time_,        etcd_,       acknowledged_, 10 * nanos_per_ms,
                                      plants_.wrap, plants_.node};
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
  switch (random_() % 12) {
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
      return report_end(i);
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

std::string RandomCluster::check() {
  for (const auto& node : nodes_) {
    if (!node->fault().empty()) return node->fault();
    if (node->refused()) return node->refused()->message();
    if (node->is_behind()) return "a node is behind the trim";
    epoch_ = std::max(epoch_, node->epoch());
  }
  return check_log();
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
  for (const etcd::KeyValue& entry : keys_of({.range = keys.entries_from(0), .keys_only = true})) {
    if (entry.version != 1) return fmt::format("{} was written {} times", entry.key, entry.version);
  }
  for (const etcd::KeyValue& entry : keys_of({.range = keys.entries_from(checked_ + 1)})) {
    checked_ = *keys.index_of(entry.key);
    const auto next = elections_.upper_bound(decode_batch(entry.value)->epoch());
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
