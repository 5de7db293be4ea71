#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "tests/store/cluster/simulated_node.h"

namespace perennial::store::cluster {

// Three nodes and an etcd with all its faults, from a seed. Nodes are killed, paused and lose what
// they have not flushed, while each appends for as long as it leads. Every function returns the
// first law that was broken, or nothing: C1 to C4 of the specification.
class RandomCluster {
 public:
  struct Plants {
    SimulatedNode::Plant node = SimulatedNode::Plant::None;
    std::function<std::unique_ptr<etcd::Client>(std::unique_ptr<etcd::Client>)> wrap = {};
  };

  explicit RandomCluster(uint64_t seed) : RandomCluster(seed, Plants()) {}
  RandomCluster(uint64_t seed, Plants plants);

  std::string run(Nanos time);
  // Everything works again, and all nodes get to the same end.
  std::string catch_up();

  size_t acknowledged() const { return acknowledged_.size(); }
  uint64_t epoch() const { return epoch_; }

 private:
  static constexpr size_t node_count = 3;

  void start(size_t i);
  // As a supervisor does.
  void restart_ended();
  void act();
  void report_end(size_t i);
  std::string check();
  std::string compare() const;
  std::string check_log();

  std::mt19937_64 random_;
  support::VirtualTime time_;
  support::FakeEtcd etcd_;
  const Plants plants_;
  Acknowledged acknowledged_;
  std::array<SimulatedDisk, node_count> disks_;
  std::array<std::unique_ptr<SimulatedNode>, node_count> nodes_;
  uint64_t epoch_ = 0;
  std::map<uint64_t, etcd::Revision> elections_;  // The revisions of the epochs that were seen.
  BatchIndex checked_ = 0;                        // Up to this entry.
};

}  // namespace perennial::store::cluster
