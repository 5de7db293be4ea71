#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/cluster/node.h"
#include "tests/support/fake_etcd.h"
#include "tests/support/virtual_time.h"

// Nodes of a cluster in virtual time, each with a disk and without a database: an entry is applied
// by keeping it. They show whether the log is one history, whatever etcd and the network do.
namespace perennial::store::cluster {

// What survives the process.
struct SimulatedDisk {
  std::string directory = {};  // Its identity.
  std::string cluster_id = {};
  std::map<BatchIndex, std::string> entries = {};
  BatchIndex flushed = 0;
  bool has_space = true;
  bool is_damaged = false;  // So that no leader can load it.
  bool is_noticed = true;   // The damage, before anybody needs what is damaged.

  BatchIndex last() const { return entries.empty() ? 0 : entries.rbegin()->first; }
  LocalPosition holding() const;
  // What was not flushed is gone.
  void lose_power() { entries.erase(entries.upper_bound(flushed), entries.end()); }
};

// Everything that was acknowledged to clients, by its index.
using Acknowledged = std::map<BatchIndex, std::string>;

// The bytes of a batch of one tube, whose name tells it from all others.
std::string entry_bytes(uint64_t epoch, BatchIndex index, Nanos now, const std::string& name);

// One process of a node.
class SimulatedNode {
 public:
  // A bug that the laws must notice.
  enum class Plant : uint8_t {
    None,
    AnswersBeforeTheCommit,
    SkipsAnEntry,      // Of each hundred that others have appended.
    LeaseNotLookedAt,  // Before something is answered.
    TrimsAtOneCopy,
    TakeoverAddsUptime,  // To the cluster's time.
    DamagedStandsAgain,  // After its database could not be loaded, of which it knows nothing.
    DamageNotTold,       // To the node.
    EntriesTellNoTime,   // To the node.
  };
  struct World {
    support::VirtualTime& time;
    support::FakeEtcd& etcd;
    Acknowledged& acknowledged;
    Nanos write_gap = 0;  // Between an answer and the next append.
    // The leader of this epoch hands out a reservation.
    std::function<void(uint64_t epoch)> hand_out = [](uint64_t) {};
    // The leader of this epoch hands over to the node `to`; empty: any.
    std::function<void(uint64_t epoch, const std::string& to)> hands_over = {};
    // A leader appends `entry` behind `before`, which is empty if it is the first.
    std::function<void(const std::string& before, const std::string& entry)> appends = {};
    // Between a node's client and etcd; none: etcd itself.
    std::function<std::unique_ptr<etcd::Client>(std::unique_ptr<etcd::Client>)> wrap = {};
    Plant plant = Plant::None;
  };

  SimulatedNode(World world, NodeOptions options, SimulatedDisk& disk);
  ~SimulatedNode();

  support::VirtualTime::Node& process() const { return process_; }
  Node& node() { return *node_; }
  // Appends entries for as long as the node leads. Others only follow.
  void write_always(bool writes);
  // As SIGKILL. Nothing of it runs any more. What is not flushed stays, unless the power fails.
  void kill();

  bool leads() const { return epoch_ != 0 && lost_.empty() && !handing_over_; }
  uint64_t epoch() const { return epoch_; }
  // The process has ended by itself.
  bool has_ended() const {
    return !lost_.empty() || refused_.has_value() || is_behind_ || is_replaced_ || !repair_.empty();
  }
  // The request for a repair that it has taken. Empty: none.
  const std::string& repair() const { return repair_; }
  const std::string& lost() const { return lost_; }
  const std::optional<Status>& refused() const { return refused_; }
  bool is_behind() const { return is_behind_; }
  bool is_replaced() const { return is_replaced_; }
  bool has_successor() const { return standbys_.has_successor; }
  const Node::Standbys& standbys() const { return standbys_; }
  const std::vector<std::string>& settings_differ() const { return settings_differ_; }
  // The newest format of batches that all others read.
  uint8_t others_read() const { return others_read_; }
  // Why it could not be elected when it stood last: what another node holds.
  const std::optional<Election::Claim>& outrun() const { return outrun_; }
  // Why it did not stand when it was its turn last.
  const std::optional<Election::Abstention>& abstention() const { return abstention_; }
  Puts puts() const { return puts_; }
  // Why its appends have failed for a while. None: they have not.
  const std::optional<etcd::CallError>& waits() const { return waits_; }
  const EtcdAlarms& alarms() const { return alarms_; }
  // What is wrong with an entry that was passed on; empty: nothing.
  const std::string& fault() const { return fault_; }
  const std::optional<LeaderRecord>& leader() const { return leader_; }
  // What the handovers that it was asked for named, in order.
  const std::vector<std::string>& handovers() const { return handovers_; }
  // Of the last one.
  HandoverCause handover_cause() const { return handover_cause_; }
  // Why it did not hand over when it was asked last. Empty: it was not, or did.
  const std::string& declined() const { return declined_; }
  // The cluster's time. REQUIRES: it leads.
  Nanos time() const { return process_.now() + time_offset_; }
  const WallClock& clock() const { return clock_; }
  // How often it was told who leads.
  int leaders_told() const { return leaders_told_; }

 private:
  Node::Events events();
  void on_entry(BatchIndex index, std::string bytes);
  void write_next();
  void hand_out_always();
  void leave_if_idle();
  void keep(BatchIndex index, std::string bytes);
  void flush_later();
  void look_at_disk();
  void give_up();

  World world_;
  NodeOptions options_;
  SimulatedDisk& disk_;
  support::VirtualTime::Node& process_;
  std::unique_ptr<etcd::Client> client_;
  std::unique_ptr<Node> node_;

  const Nanos begun_;
  bool has_space_ = true;  // What the node was told.
  bool is_damaged_ = false;
  bool writes_ = false;
  bool is_appending_ = false;
  uint64_t epoch_ = 0;
  uint64_t last_epoch_ = 0;  // Of the newest entry.
  BatchIndex seen_ = 0;      // The newest entry that was passed on.
  std::map<BatchIndex, std::string> appended_;
  std::string lost_;
  std::optional<Status> refused_;
  std::optional<LeaderRecord> leader_;
  int leaders_told_ = 0;
  std::vector<std::string> handovers_;
  HandoverCause handover_cause_ = HandoverCause::Asked;
  std::string declined_;
  std::string repair_;
  Nanos time_offset_ = 0;
  WallClock clock_;
  bool handing_over_ = false;
  bool is_behind_ = false;
  bool is_replaced_ = false;
  Node::Standbys standbys_;
  std::optional<Election::Claim> outrun_;
  std::optional<Election::Abstention> abstention_;
  Puts puts_ = Puts::Accepted;
  std::optional<etcd::CallError> waits_;
  EtcdAlarms alarms_;
  std::vector<std::string> settings_differ_;
  uint8_t others_read_ = batch_format_with_fields;
  std::string fault_;
};

}  // namespace perennial::store::cluster
