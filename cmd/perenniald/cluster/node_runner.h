#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cmd/perenniald/config/cluster_config.h"
#include "cmd/perenniald/process/failure.h"
#include "engine/types/basic.h"
#include "engine/types/histogram.h"
#include "engine/types/status.h"
#include "store/cluster/cluster_log.h"
#include "store/cluster/node.h"
#include "store/cluster/records.h"
#include "store/commit/log.h"
#include "store/etcd/etcd.h"
#include "store/store.h"

namespace perennial::perenniald {

enum class OldDatabase : uint8_t;

class EtcdDiscovery;

// What is known of a node at a moment.
struct NodeFacts {
  bool leads = false;  // And its lease is not over.
  // The leader: another node, or this one. None: nobody leads, for all that is known.
  std::optional<store::cluster::LeaderRecord> leader = {};
  uint64_t epoch = 0;      // Of the newest leader that this node has heard of.
  BatchIndex newest = 0;   // In the log, as far as this node has read it.
  BatchIndex applied = 0;  // Of it, what the database of this node holds,
  BatchIndex flushed = 0;  // and what its disk holds.
  // How far its wall clock is off, and whether it may lead with it.
  store::cluster::WallClock clock = {};
  // Of the leader: why its appends have failed for a while. Empty: they have not.
  std::string append_failure = {};
  bool has_space = true;                         // On its disk, for the jobs of puts.
  store::cluster::Node::Standbys standbys = {};  // Of a leader.
  // As the leader sees them, or while nobody leads.
  store::cluster::EtcdAlarms alarms = {};
  size_t settings_differ = 0;  // So many settings are others than the leader's.

  // Entries that this node has read and not yet applied.
  uint64_t lag() const { return newest > applied ? newest - applied : 0; }
};

// This process as a node of its cluster: etcd's client with its thread, the node, and the log that
// the server appends to while it leads.
//
// A standby has no engine and serves no queue. The server's start waits in follow() until the node
// leads, and then loads what was applied. A node that loses the lead ends its process with exit
// code 76 and without destructors, since what it holds in memory may differ from what the log
// holds; its supervisor starts it again as a standby.
class NodeRunner {
 public:
  // `wake` is called on another thread when the log has an update for the loop, or another node
  // leads. InvalidArgument: the settings name a file that cannot be used. Unsupported: the program
  // was built without clusters. NotFound: DNS does not name the members of etcd.
  static Result<std::unique_ptr<NodeRunner>> create(const ClusterConfig& config,
                                                    const std::string& version,
                                                    std::function<void()> wake);
  // REQUIRES: the log that take_log() gave has ended, or none was taken.
  ~NodeRunner();

  // Follows the log until this node leads, and has applied everything that any leader has
  // committed. On the thread of the start; returns an error after cancel(). `store` outlives this,
  // unless an error is returned. If is_behind() then, another store may be followed.
  Status follow(store::Store& store);
  // Whether follow() has ended because the log does not hold what follows the store's last batch
  // any more.
  bool is_behind() const;
  // This node leads and could not load what it has applied. Gives up the lead, so that another node
  // takes it at once, and ends all use of the store. Nothing but want_copy() and ~NodeRunner()
  // follows.
  void give_up();
  // Of a node whose load has failed: one whose rows are damaged is of no use to the cluster, and
  // would be elected again. Returns how the process ends, if its next start shall get a copy.
  static std::optional<Failure> want_copy(const std::string& data_dir, const Status& loaded);
  // Gets a copy, if a former process has wanted one. As get_copy().
  Status get_wanted_copy(const std::string& data_dir);
  // Replaces the database of this node by a copy of another's: get_copy.h. REQUIRES: is_behind(),
  // or nothing was followed; and no process has the directory open.
  Status get_copy(const std::string& data_dir);
  // The same for a database that cannot be opened, which is kept as damaged-TIME.
  Status replace_damaged(const std::string& data_dir, const Status& opened);
  // Any thread.
  void cancel();
  // Reaches etcd by these settings (set_etcd_settings) as soon as it answers by them, and reads all
  // files again. The log says what becomes of it. Running watches and the lease go on.
  // InvalidArgument: a file cannot be used, and nothing changes until it can. Any thread.
  Status reconfigure(const ClusterConfig& config);
  // The settings in which all nodes should be alike, as text by their names. Only digests of them
  // leave the process. Any thread.
  void set_shared_settings(std::map<std::string, std::string> settings);

  // The epoch of this leader. REQUIRES: follow() has returned without an error.
  uint64_t epoch() const { return epoch_; }
  // The cluster's time now, with which this leader loads its jobs: what a former leader has handed
  // on, or else the wall clock. In nanoseconds since the epoch. REQUIRES: as epoch().
  Nanos time() const;
  bool is_time_handed_on() const { return takeover_.is_handed_on; }
  // The time with which it has loaded them, which what they hold may have moved on.
  void set_time(Nanos time);
  // The log that the loop appends to. It ends before this does, and after leave().
  std::unique_ptr<store::Log> take_log() { return std::move(log_); }

  // Any thread.
  NodeFacts facts() const;
  // store::cluster::ClusterLog::checkpoint_at(). `done` is called on another thread, or never if
  // there is no log now.
  void checkpoint_at(BatchIndex index, std::string dir,
                     std::function<void(Result<BatchIndex>)> done);
  // From the append of a batch until etcd had it, while this node led. Any thread.
  LatencyHistogram append_times() const;
  // The process that leads in this epoch has ended, although its lease has not. Any thread.
  void leader_has_ended(uint64_t epoch);
  // An operator asks this leader to hand over; the log says if it does not. Any thread.
  void ask_handover();
  // Whether this standby reaches the leader at its peer_address. None: it is not known, or has
  // none.
  void on_leader_reached(std::optional<bool> reached);

  // Ends the process if another node may lead by now: C5. Called before anything is answered.
  void check_lease() const;
  // The body of a job is not on this leader's disk as it was put. Ends the process if another node
  // can lead at once, which has the body; that node goes on, and the next start of this one gets a
  // copy. Otherwise it returns, and the job is lost.
  void on_lost_body(const Status& why) const;
  // Ends the process if it leads and its loop has stood still for as long as a lease: it serves
  // nobody, while another thread keeps its lease alive. Any thread.
  void on_loop_stalled(Nanos stalled) const;
  // Somebody has asked this leader to hand over; `wake` was called. The owner then stops to accept,
  // lets the log commit what it has, and calls leave(). Any thread.
  bool hands_over() const { return hands_over_.load(std::memory_order_acquire); }
  // Gives up the lead, so that a standby takes over at once. Nothing is appended from now on.
  void leave();

 private:
  Status fetch_copy(const std::string& data_dir, OldDatabase old);
  NodeRunner(const ClusterConfig& config, std::string version, std::function<void()> wake);

  store::cluster::Node::Events node_events();
  store::cluster::NodeOptions node_options(const store::Store& store) const;
  void start(store::Store& store);
  void finish(Status status);
  void stop_threads();
  Status connect();
  bool is_cancelled() const;
  ClusterConfig settings() const;
  Status discover();
  void use_endpoints(std::vector<std::string> endpoints);
  void reconfigure_client();
  void on_elected(uint64_t epoch);
  void on_leader(const std::optional<store::cluster::LeaderRecord>& leader);
  void on_entry(BatchIndex index);
  void on_progress(BatchIndex applied, BatchIndex flushed);
  void on_clock(const store::cluster::WallClock& clock);
  void on_outrun(const store::cluster::Election::Claim& claim);
  void on_abstains(store::cluster::Election::Abstention why);
  void on_hand_over(const std::string& to, store::cluster::HandoverCause cause);
  void on_repair(const std::string& id);
  void on_space(bool has_space);
  void on_disk_damaged(const std::string& what);
  void on_replace();
  void on_failed(const store::etcd::Failure& failure);
  // Whether what comes again and again is logged again. Then it was logged now.
  bool is_due(Nanos& logged_at) const;
  void on_waits(std::optional<store::etcd::CallError> waits_for);
  void on_alarms(const store::cluster::EtcdAlarms& alarms);
  void on_settings_differ(const std::vector<std::string>& names);
  Status adopt(const std::string& cluster_id);
  void tell_settings();

  const ClusterConfig config_;  // Of the start. settings() has what may have changed.
  const std::string version_;
  const std::function<void()> wake_;
  struct Etcd;  // Its client and the thread of that.
  std::unique_ptr<Etcd, void (*)(Etcd*)> etcd_;
  // Null: the settings name the endpoints.
  std::unique_ptr<EtcdDiscovery, void (*)(EtcdDiscovery*)> discovery_;
  std::unique_ptr<store::cluster::Node> node_;
  std::unique_ptr<store::cluster::ClusterLog> log_;
  store::cluster::ClusterLog* entries_ = nullptr;  // The log, also when it was taken.
  store::Store* store_ = nullptr;

  // What the executor's thread alone uses.
  std::string failed_before_;  // What was logged last.
  Nanos failed_at_ = 0;
  Nanos outrun_at_ = 0;  // When that was logged last; 0: never.
  Nanos abstained_at_ = 0;
  Nanos appended_at_ = 0;
  std::string damage_;  // Of the database on disk. Empty: none is known.

  std::atomic<bool> hands_over_ = false;

  mutable std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::optional<Status> outcome_;  // Of follow().
  bool is_behind_ = false;
  bool leads_ = false;
  bool cancelled_ = false;
  uint64_t epoch_ = 0;
  store::cluster::TakeoverTime takeover_;
  Nanos elected_at_ = 0;         // By the executor's clock, with takeover_.time.
  ClusterConfig etcd_settings_;  // Of it, how etcd is reached.
  std::map<std::string, std::string> shared_settings_;
  NodeFacts facts_;
  LatencyHistogram append_times_;
};

}  // namespace perennial::perenniald
