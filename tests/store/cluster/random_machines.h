#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "tests/store/cluster/simulated_node.h"

namespace perennial::store::cluster {

// Three machines and an etcd, from a seed. Each machine has a clock that may be wrong and may jump,
// a disk that may be full or damaged, a line to etcd and a port for other nodes that may be closed,
// and may be cloned. One machine has a fault at a time, so that what must still hold is known:
//
// - What was acknowledged is on the disk of whoever is elected, and each disk has one history (C1).
// - While one node hands out reservations no other was elected (C5).
// - The cluster's time is ahead of the right one by no more than a clock that is believed.
// - Nobody is elected without a cause: the elections are no more than the faults.
// - Who has no disk space, or a damaged disk, hands over where another node can lead, and mostly
// the
//   node leads that was named. (A call that is lost may cost it the 2 s that others wait.)
//
// It is blind to what happens between processes: the doors of clients, copies on their way, and
// how the end of a leader is proved, which it draws.
class RandomMachines {
 public:
  enum class Bug : uint8_t {
    None,
    TakeoverAddsUptime,   // The time jumps by the uptime of the node that takes over.
    WallClockBelieved,    // However far it is off.
    EarlierTimeBelieved,  // Leaders alone tell the time, not entries; an earlier one's counts.
    ClaimNotCompared,     // An election does not ask for the newest batch that a node holds.
    ResetIsProof,         // A port that resets is taken for a process that has ended.
    SilenceIsProof,       // So is a port that cannot be reached.
    DamagedStandsAgain,   // A node that could not load its database is elected with it again.
    DamageNotTold,        // A node does not know that its disk is damaged.
    CloneBelieved,        // A copy of a directory on another machine is taken for the node itself.
    PortClosesFirst,      // At a handover standbys take the closed port for the process's end.
    SpaceNotTold,         // Others do not hear that a disk has space.
  };
  enum class Faults : uint8_t {
    All,  // But for a restore.
    // etcd is restored from an older snapshot once, while one node is paused or cut off. Later the
    // nodes that are refused for it are emptied.
    Restore,
  };

  explicit RandomMachines(uint64_t seed, Bug bug = Bug::None, Faults faults = Faults::All);

  // Returns the first law that was broken, or nothing.
  std::string run(Nanos time);

  size_t acknowledged() const { return acknowledged_.size(); }
  uint64_t epoch() const { return epoch_; }
  // How many faults of each kind there were.
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  static constexpr size_t machine_count = 3;

  struct Machine {
    SimulatedDisk disk = {};
    std::unique_ptr<SimulatedNode> node = {};
    Nanos wall_offset = 0;
    bool is_cut = false;          // From etcd.
    bool is_unreachable = false;  // At its port for other nodes, which drops what comes.
  };

  void start(size_t i);
  std::unique_ptr<SimulatedNode> make(size_t i, SimulatedDisk& disk, const std::string& boot);
  void restart_ended();
  void copy_from_another(size_t i);
  void empty(size_t i);
  // None: nobody leads.
  std::optional<size_t> leader() const;
  void report_end(uint64_t epoch, size_t of);
  void report_to_planted();

  void act();
  void end_fault();
  void kill(size_t i, bool power);
  void restart_beside_still_leader(size_t i);
  void cut(size_t i);
  void set_clock(size_t i);
  void clone(size_t i);
  void ask_to_hand_over(size_t to);
  void restore();
  void wake();

  std::string check();
  std::string check_time();
  std::string check_histories() const;
  std::string check_leader();
  void judge_handover();
  void on_hand_out(uint64_t epoch);
  void on_hand_over(uint64_t epoch, const std::string& to);
  void count(const std::string& what) { ++counts_[what]; }

  std::mt19937_64 random_;
  support::VirtualTime time_;
  support::FakeEtcd etcd_;
  const Bug bug_;
  const Faults faults_;
  std::string handed_out_by_two_;
  uint64_t led_epoch_ = 0;  // Of the last leader that was seen,
  Nanos led_ahead_ = 0;     // and by how much its time was ahead.
  Acknowledged acknowledged_;
  std::map<std::string, std::string> parents_;  // Of each entry that was appended: the one before.
  std::array<Machine, machine_count> machines_;
  std::unique_ptr<SimulatedDisk> clone_disk_;
  std::unique_ptr<SimulatedNode> clone_;
  uint64_t epoch_ = 0;
  uint64_t causes_ = 1;  // Of elections. The first one has none.
  Nanos fault_ends_at_ = 0;
  std::optional<size_t> sleeper_;  // Of a restore: it is paused or cut off until then.
  Nanos wakes_at_ = 0;
  Nanos refused_until_ = 0;     // Then an operator empties the nodes that are refused.
  Nanos bad_leader_since_ = 0;  // 0: it is none.
  // Of the handover that was begun last.
  std::optional<size_t> named_;
  uint64_t named_after_ = 0;  // The epoch of the leader that named it.
  int misnamed_ = 0;          // How often another node led then.
  Nanos named_until_ = 0;     // A leader that was named keeps the lead with a full disk.
  std::map<std::string, int> counts_;
  support::VirtualTime::Node& operator_;
  const std::unique_ptr<etcd::Client> client_;
};

}  // namespace perennial::store::cluster
