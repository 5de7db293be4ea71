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
// first law that was broken, or nothing: C1 to C5 of the specification.
class RandomCluster {
 public:
  struct Plants {
    SimulatedNode::Plant node = SimulatedNode::Plant::None;
    std::function<std::unique_ptr<etcd::Client>(std::unique_ptr<etcd::Client>)> wrap = {};
  };
  // What a lease is worth. With `Hold` etcd keeps each for its time, and a process that is said to
  // have ended has: then a reservation is handed out by one node at a time (C5).
  enum class Leases : uint8_t { Break, Hold };

  explicit RandomCluster(uint64_t seed) : RandomCluster(seed, Plants()) {}
  RandomCluster(uint64_t seed, Plants plants, Leases leases = Leases::Break);

  std::string run(Nanos time);
  // Everything works again, and all nodes get to the same end.
  std::string catch_up();

  size_t acknowledged() const { return acknowledged_.size(); }
  uint64_t epoch() const { return epoch_; }

 private:
  static constexpr size_t node_count = 3;

  bool trims_at_one_copy() const { return plants_.node == SimulatedNode::Plant::TrimsAtOneCopy; }
  void start(size_t i);
  // As a supervisor does.
  void restart_ended();
  void act();
  void report_end(size_t i);
  void ask_to_hand_over(size_t to);
  std::string check();
  std::string compare() const;
  std::string check_log();
  std::string check_copies(BatchIndex first) const;
  void on_hand_out(uint64_t epoch);

  std::mt19937_64 random_;
  support::VirtualTime time_;
  support::FakeEtcd etcd_;
  const Plants plants_;
  const Leases leases_;
  std::string handed_out_by_two_;  // What was wrong.
  Acknowledged acknowledged_;
  std::array<SimulatedDisk, node_count> disks_;
  std::array<std::unique_ptr<SimulatedNode>, node_count> nodes_;
  uint64_t epoch_ = 0;
  std::map<uint64_t, etcd::Revision> elections_;  // The revisions of the epochs that were seen.
  support::VirtualTime::Node& operator_;
  const std::unique_ptr<etcd::Client> client_;
  BatchIndex checked_ = 0;  // Up to this entry.
};

}  // namespace perennial::store::cluster
