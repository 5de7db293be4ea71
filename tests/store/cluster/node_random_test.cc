#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/simulated_node.h"
#include "tests/support/seed.h"

// Three nodes and an etcd with all its faults, from a seed: C1 to C4 of the specification.
namespace perennial::store::cluster {
namespace {

using support::EtcdFaults;
using support::FakeEtcd;
using support::VirtualTime;

constexpr Nanos second = nanos_per_second;
constexpr size_t node_count = 3;

class Cluster {
 public:
  explicit Cluster(uint64_t seed)
      : random_(seed), time_(seed), etcd_(time_, {.seed = seed, .faults = EtcdFaults::all()}) {
    for (size_t i = 0; i < node_count; ++i) {
      disks_[i].directory = fmt::format("directory-{}", i);
      start(i);
    }
  }

  void run(Nanos time) {
    const Nanos end = time_.now() + time;
    while (time_.now() < end) {
      time_.run_for(static_cast<Nanos>(random_() % (2 * second)));
      act();
      check();
      if (testing::Test::HasFailure()) return;
    }
  }

  // Everything works again, and all nodes get to the same end.
  void catch_up() {
    etcd_.heal();
    for (size_t i = 0; i < node_count; ++i) {
      if (nodes_[i]->process().is_paused()) nodes_[i]->process().resume();
    }
    const Nanos end = time_.now() + 60 * second;
    while (time_.now() < end) {
      time_.run_for(second);
      for (size_t i = 0; i < node_count; ++i) restart_if_ended(i);
    }
    for (const auto& node : nodes_) node->write_always(false);
    time_.run_for(10 * second);
    check();
    size_t leaders = 0;
    for (const auto& node : nodes_) leaders += node->leads() && !node->has_ended() ? 1 : 0;
    EXPECT_EQ(leaders, 1U);
    for (const SimulatedDisk& disk : disks_) EXPECT_EQ(disk.last(), disks_[0].last());
    for (const auto& [index, bytes] : acknowledged_) {
      for (const SimulatedDisk& disk : disks_) {
        ASSERT_TRUE(disk.entries.contains(index)) << index << " of " << disk.directory;
        ASSERT_EQ(disk.entries.at(index), bytes) << index << " of " << disk.directory;
      }
    }
  }

  size_t acknowledged() const { return acknowledged_.size(); }
  uint64_t epoch() const { return epoch_; }

 private:
  void start(size_t i) {
    NodeOptions options;
    options.cluster = "jobs";
    options.node = fmt::format("node-{}", i);
    options.lease_s = 5;
    options.new_cluster_id = fmt::format("id-of-{}", i);
    // Small enough for entries to be trimmed, and large enough that who was away can follow.
    options.trim = {.copies_min = 2, .keep_bytes = 200'000, .bytes_max = 300'000};
    nodes_[i].reset();
    nodes_[i] = std::make_unique<SimulatedNode>(
        SimulatedNode::World{time_, etcd_, acknowledged_, 10 * nanos_per_ms}, std::move(options),
        disks_[i]);
    nodes_[i]->write_always(true);
  }

  void restart_if_ended(size_t i) {
    if (!nodes_[i]->has_ended()) return;
    EXPECT_FALSE(nodes_[i]->refused()) << nodes_[i]->refused()->message();
    start(i);
  }

  void act() {
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
        return report_ends(i);
      default:
        for (size_t other = 0; other < node_count; ++other) restart_if_ended(other);
    }
  }

  // The others believe that the leader's process has ended, rightly or not: that costs it the lead
  // and nothing else.
  void report_ends(size_t i) {
    for (const auto& node : nodes_) {
      if (!node->process().is_killed() && !node->has_ended()) {
        node->process().post([&node, epoch = nodes_[i]->epoch()] {
          if (!node->has_ended()) node->node().leader_has_ended(epoch);
        });
      }
    }
  }

  void check() {
    for (const auto& node : nodes_) {
      ASSERT_EQ(node->fault(), "");
      ASSERT_FALSE(node->refused()) << node->refused()->message();
      epoch_ = std::max(epoch_, node->epoch());
    }
  }

  std::mt19937_64 random_;
  VirtualTime time_;
  FakeEtcd etcd_;
  Acknowledged acknowledged_;
  std::array<SimulatedDisk, node_count> disks_;
  std::array<std::unique_ptr<SimulatedNode>, node_count> nodes_;
  uint64_t epoch_ = 0;
};

TEST(NodeRandom, NothingAcknowledgedIsLostAndAllNodesAreEqual) {
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t seed = support::seed() + i;
    SCOPED_TRACE(fmt::format("--seed {}", seed));
    Cluster cluster(seed);
    cluster.run(120 * second);
    if (HasFailure()) return;
    cluster.catch_up();
    if (HasFailure()) return;
    // What is tested has happened.
    EXPECT_GT(cluster.acknowledged(), 1000U);
    EXPECT_GT(cluster.epoch(), 2U);
  }
}

}  // namespace
}  // namespace perennial::store::cluster
