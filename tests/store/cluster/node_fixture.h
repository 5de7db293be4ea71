#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "store/cluster/entry.h"
#include "tests/store/cluster/simulated_node.h"
#include "tests/support/fake_etcd.h"
#include "tests/support/virtual_time.h"

// A few nodes and an etcd in virtual time, for faults by hand.
namespace perennial::store::cluster {

inline constexpr int64_t lease_s = 10;
inline constexpr Nanos second = nanos_per_second;

inline NodeOptions options(const std::string& name) {
  NodeOptions made;
  made.cluster = "jobs";
  made.node = name;
  made.client_address = name + ":11300";
  made.format = newest_format;
  made.lease_s = lease_s;
  made.new_cluster_id = "id-of-" + name;
  return made;
}

class NodeTest : public testing::Test {
 protected:
  explicit NodeTest(support::EtcdModel::Limits limits = {})
      : etcd_(time_, {.seed = 7, .limits = limits}) {}

  std::unique_ptr<SimulatedNode> start(const std::string& name, SimulatedDisk& disk) {
    return start(options(name), disk);
  }
  std::unique_ptr<SimulatedNode> start(NodeOptions made, SimulatedDisk& disk) {
    return std::make_unique<SimulatedNode>(world_, std::move(made), disk);
  }
  // A node that leads and appends.
  std::unique_ptr<SimulatedNode> start_leader(const std::string& name, SimulatedDisk& disk) {
    std::unique_ptr<SimulatedNode> node = start(name, disk);
    EXPECT_TRUE(time_.run_until([&] { return node->leads(); }, 30 * second));
    node->write_always(true);
    return node;
  }
  void run_for(Nanos time) { time_.run_for(time); }
  bool run_until(const std::function<bool()>& done, Nanos limit) {
    return time_.run_until(done, limit);
  }
  // As `perennial cluster handover` asks.
  void ask_to_hand_over(const std::string& value) {
    etcd::Transaction ask;
    ask.then.emplace_back(etcd::Put{.key = Keys("jobs").handover(), .value = value});
    client_->commit(ask, operator_.now() + second, [](const auto&) {});
  }
  // With a lease that nobody renews.
  void put_for(const std::string& key, const std::string& value, int64_t seconds) {
    client_->grant(seconds, operator_.now() + second, [this, key, value](const auto& granted) {
      const etcd::LeaseId lease = std::get<etcd::LeaseGranted>(granted).lease;
      etcd::Transaction put;
      put.then.emplace_back(etcd::Put{.key = key, .value = value, .lease = lease});
      client_->commit(put, operator_.now() + second, [](const auto&) {});
    });
  }
  void remove(const std::string& key) {
    etcd::Transaction deletion;
    deletion.then.emplace_back(etcd::Delete{{.key = key, .end = {}}});
    client_->commit(deletion, operator_.now() + second, [](const auto&) {});
  }
  // As the node's disk says.
  static void set_space(SimulatedNode& node, bool has_space) {
    node.process().post([&node, has_space] { node.node().set_space(has_space); });
  }
  // The node notices that the process that led in this epoch has ended.
  static void learn_of_the_end(SimulatedNode& node, uint64_t epoch) {
    node.process().post([&node, epoch] { node.node().leader_has_ended(epoch); });
  }
  bool has_key(const std::string& key) {
    const auto found = etcd_.model().get({.range = {.key = key, .end = {}}});
    return !std::get<etcd::Found>(found).keys.empty();
  }
  // How long it takes.
  Nanos time_until(const std::function<bool()>& done) {
    const Nanos begun = time_.now();
    EXPECT_TRUE(time_.run_until(done, 100 * second));
    return time_.now() - begun;
  }
  // Every acknowledged entry is on the disk as it was acknowledged.
  void expect_all(const SimulatedDisk& disk) {
    for (const auto& [index, bytes] : acknowledged_) {
      const auto at = disk.entries.find(index);
      ASSERT_NE(at, disk.entries.end()) << index;
      EXPECT_EQ(at->second, bytes) << index;
    }
  }

  support::VirtualTime time_{7};
  support::FakeEtcd etcd_;
  Acknowledged acknowledged_;
  support::VirtualTime::Node& operator_ = time_.add_node();
  const std::unique_ptr<etcd::Client> client_ = etcd_.connect(operator_);
  SimulatedNode::World world_{time_, etcd_, acknowledged_};
  SimulatedDisk disk_a_{.directory = "directory-a"};
  SimulatedDisk disk_b_{.directory = "directory-b"};
  SimulatedDisk disk_c_{.directory = "directory-c"};
};

}  // namespace perennial::store::cluster
