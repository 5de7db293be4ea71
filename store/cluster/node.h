#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/cluster/appender.h"
#include "store/cluster/cluster_time.h"
#include "store/cluster/election.h"
#include "store/cluster/follower.h"
#include "store/cluster/keys.h"
#include "store/cluster/lease.h"
#include "store/cluster/log_size.h"
#include "store/cluster/maintenance.h"
#include "store/cluster/records.h"
#include "store/etcd/etcd.h"
#include "store/format/format.h"

namespace perennial::store::cluster {

struct NodeOptions {
  std::string cluster;  // is_cluster_name(), as `node`.
  std::string node;
  std::string directory;       // The identity of the data directory.
  std::string boot = {};       // LeaderRecord::boot
  std::string client_address;  // Where clients and other nodes reach this one.
  std::string peer_address;
  bool reads_forward_header = false;  // LeaderRecord::reads_forward_header
  std::string version;
  uint32_t format = 0;                   // newest_format: of entries that this node can apply.
  uint32_t priority = priority_default;  // NodeRecord::priority
  int64_t lease_s = 10;
  TrimLimits trim;
  bool compacts_etcd = true;
  uint64_t etcd_quota_bytes = uint64_t{2} << 30;  // etcd's --quota-backend-bytes.
  // How far a wall clock may be from the cluster's time to be believed.
  Nanos clock_offset_max = 10 * nanos_per_second;
  // Whether this node does not campaign while its settings differ from the leader's.
  bool refuses_other_settings = false;
  // Random, and used only if this node is the first of its cluster.
  std::string new_cluster_id;
};

// The place in the log that the data directory has reached when the node starts.
struct LocalPosition {
  std::string cluster_id;  // Empty: it belongs to no cluster.
  // The index and time, in nanoseconds, of its last batch; both zero: it holds none. The time tells
  // this batch from another one with the same index. An epoch would not, because each directory
  // counts its own.
  BatchIndex index = 0;
  Nanos now = 0;
};

enum class HandoverCause : uint8_t { Asked, NoSpace, Resigned, Repair, Damaged };

// How many members of etcd have raised each alarm.
struct EtcdAlarms {
  size_t no_space = 0;
  size_t corrupt = 0;

  bool operator==(const EtcdAlarms&) const = default;
};

// One node of a cluster: it follows the log in etcd as a standby, and becomes the leader when there
// is none. It joins the parts of this folder, and decides nothing about jobs. README.md says how.
//
// The node is a state machine on the thread of its executor: calls, answers of etcd and timers go
// in, events come out, and the same inputs in the same order have the same outputs. It holds no
// database. Whoever owns it applies the entries that it passes on, and says how far that is.
class Node {
 public:
  // What a leader knows of the nodes that follow it.
  struct Standbys {
    // Whether one could lead at once whose database is not known to be damaged.
    bool has_successor = false;
    uint64_t count = 0;  // Those that follow, and are not joining.
    uint64_t lag = 0;    // Entries that the one furthest behind has not applied.
  };
  struct Events {
    // Makes the data directory a part of this cluster. Called before any entry is passed on.
    std::function<Status(const std::string& cluster_id)> adopt;
    // The next entry of the log, to be checked and applied. For every entry that this node has not
    // appended itself.
    std::function<void(BatchIndex, std::string bytes)> entry;
    // This node leads from now on, in this epoch. All entries up to `last` were applied, and the
    // next to be appended is the one after.
    std::function<void(uint64_t epoch, BatchIndex last)> elected;
    std::function<void(BatchIndex)> committed;
    // Who leads: another node, or none. Called when that changes.
    std::function<void(const std::optional<LeaderRecord>&)> leader;
    // Of a leader. Called when it changes; at first they are accepted.
    std::function<void(Puts)> puts;
    // This leader shall give up the lead to the node `to` or, if that is empty, to any. The cause:
    // an operator asks for it, for a resignation or for a repair of this node; or the disk of `to`
    // has space for puts and this one's has not; or this node's database is damaged, and that of
    // `to` is not known to be. Called once. The owner stops serving, lets what was appended be
    // committed, and calls leave(), which tells the others about `to`.
    std::function<void(const std::string& to, HandoverCause)> hand_over;
    // This leader was asked to hand over, and does not.
    std::function<void(std::string why)> declined;
    // This node lags too far: the log does not hold the next entry any more, and the directory
    // needs a snapshot of another node. Nothing follows.
    std::function<void()> behind;
    // Of a standby whose database is damaged: another node has a whole one and gives copies of it,
    // so that this one is to be replaced. Nothing follows.
    std::function<void()> replace;
    // Of a leader, each second.
    std::function<void(const Standbys&)> standbys;
    // An operator has asked that this node replaces its database by a copy of another node's, and
    // another node can send one. This node has accepted the request with this identity. Nothing
    // follows.
    std::function<void(const std::string& id)> repair;
    // This node led and does not any more. The process ends: what it holds in memory may differ
    // from what the log holds. Nothing follows.
    std::function<void(std::string why)> lost;
    // This directory cannot be part of the cluster. The message says why and what to do (C7).
    // Nothing follows.
    std::function<void(Status)> refused;
    // This node campaigns, and must not win: the log in etcd does not hold a batch that another
    // node holds. Called at each campaign, once a second at most.
    std::function<void(const Election::Claim&)> outrun;
    // Election::Events::abstains.
    std::function<void(Election::Abstention)> abstains;
    // A call to etcd failed and will be retried.
    std::function<void(const etcd::Failure&)> failed;
    // Each second: how far the wall clock is off.
    std::function<void(const WallClock&)> clock;
    // Of a leader. Appends have failed for append_patience, with this error. None: they succeed
    // again. Called when that changes.
    std::function<void(std::optional<etcd::CallError>)> waits;
    // The newest format of batches that all other nodes which are there read, as far as this node
    // knows it. Called when it changes; at first it is batch_format_with_fields.
    std::function<void(uint8_t)> reads_batches;
    // The alarms that the members of etcd report, each time that this node asks them (upkeep.cc).
    std::function<void(const EtcdAlarms&)> alarms;
    // The names of settings that differ from the leader's. Called when they change; at first there
    // are none. While nobody leads, those of the last leader count.
    std::function<void(const std::vector<std::string>&)> settings_differ;
  };

  // `executor` and `client` outlive this; its functions are called on the executor's thread, but
  // for held_until().
  Node(etcd::Executor& executor, etcd::Client& client, NodeOptions options, LocalPosition holding,
       Events events);

  void start();
  // Gives up the lead and the lease, so that another node need not wait for them to end. `done` is
  // called when etcd has answered or cannot be reached. Nothing but `done` is reported from then
  // on.
  void leave(std::function<void()> done);

  // The database of this node holds the entries up to `applied`, and its disk those up to
  // `flushed`.
  void set_progress(BatchIndex applied, BatchIndex flushed);
  // Whether the disk has space for the jobs of puts. At first it has.
  void set_space(bool has_space) { has_space_ = has_space; }
  // What the database has on disk is not what was written. For good.
  void set_damaged() { is_damaged_ = true; }
  // Whether this standby reaches the leader at its peer_address. None: it is not known.
  void set_reaches_leader(std::optional<bool> reaches) { reaches_leader_ = reaches; }
  // What is compared with the other nodes from now on. At first nothing is.
  void set_settings(SettingDigests settings) { settings_ = std::move(settings); }
  // An entry of the log that is applied here was made when the cluster's time was `time`, by the
  // leader of this epoch. A leader that ended before it had published its time shows only here that
  // it was behind the one before.
  void heard_in_log(Nanos time, uint64_t epoch);
  // REQUIRES: it was elected, and the last entry was committed.
  void append(BatchIndex index, std::string bytes);
  // With which it leads. REQUIRES: it was elected.
  const TakeoverTime& takeover_time() const { return takeover_time_; }
  // This leader has loaded its jobs with this time, which is not before takeover_time(): what the
  // database holds may be later.
  void set_time(Nanos time) { time_.set(time, won_->epoch, executor_.now()); }
  // An operator asks this leader at its own door to hand over to the standby that comes first. It
  // does what it does with a request in etcd, a moment later, so that the operator is answered
  // before connections end.
  void ask_handover();
  // The process that leads in this epoch has ended, although its lease has not.
  void leader_has_ended(uint64_t epoch) { election_.leader_has_ended(epoch); }

  // Until this time, by Executor::now(), no other node can be elected, unless this process is known
  // to have ended (C5). Thread-safe.
  Nanos held_until() const { return lease_.held_until(); }

  Role role() const { return role_; }
  uint64_t log_bytes() const { return log_.bytes(); }

 private:
  // -- Joining: at the start, and again whenever etcd may be another than before.
  void join();
  void on_joining(const etcd::Outcome<etcd::TransactionDone>& outcome);
  void join_again();
  void found_cluster();
  // The newest batch that this node holds or has passed on to its owner.
  BatchIndex newest() const;
  // Compares that batch with `entry`, the entry of its index in the log, whose last one is `last`.
  Status compare(const std::vector<etcd::KeyValue>& entry, BatchIndex last) const;
  void go_on(const std::vector<etcd::KeyValue>& entry);
  void delete_refusal(const std::vector<etcd::KeyValue>& refusal);
  void on_granted(etcd::LeaseId lease);

  // -- Following and leading.
  void on_entry(BatchIndex index, std::string bytes);
  void on_current();
  void update_readiness();
  void check_clock();
  void on_behind();
  void on_won(const Election::Won& won);
  void on_finished();
  void on_leader(const std::optional<LeaderRecord>& leader);
  void lead_if_applied();
  void on_committed(BatchIndex index);
  std::vector<BatchIndex> flushed_by_all() const;
  void update_puts();

  // -- Each second, and less often.
  void publish();
  void on_published(const etcd::Outcome<etcd::TransactionDone>& outcome);
  void on_other_name(const etcd::TransactionDone& done);
  std::string other_node_message(const NodeRecord& other) const;
  void on_nodes(const etcd::Found& nodes);
  void hear_others(const etcd::Found& nodes);
  // It was started, or etcd went back in time, two leases ago or more.
  bool has_heard_for_long() const;
  bool leads(const NodeRecord& other) const;
  void learn_time(const NodeRecord& other);
  Standbys standbys() const;
  void compare_settings();
  void handle_handover(const etcd::Found& handover);
  void consider_handover(const HandoverRecord& asked);
  void hand_over_as_asked();
  void handle_resignation();
  void handle_repair(const etcd::Found& repairs);
  bool has_copy_elsewhere(const etcd::Found& repairs) const;
  void take_repair(const etcd::KeyValue& request);
  void begin_repair();
  // Deletes the key, if it is still as it was seen. Nobody waits for it.
  void remove(const etcd::KeyValue& key);
  void hand_over_for_space();
  void handle_damage(const etcd::Found& repairs);
  // Of the standbys that are up to date and may lead, and whose databases are not known to be
  // damaged, the one that would campaign first.
  std::optional<NodeRecord> successor(bool needs_space) const;
  void hand_over(HandoverRecord to, HandoverCause cause);
  void upkeep();
  bool maintains_etcd() const;
  void compact();
  void compact_to(etcd::Revision newest);
  void poll_members();
  void on_member_status(size_t member, const etcd::Outcome<etcd::MemberStatus>& outcome);
  void check_members();
  void disarm(const std::set<etcd::Alarm>& alarms);

  void end();
  void lose(std::string why);
  void refuse(StatusCode code, std::string why);
  // The log is not that of this node: the others are told what it holds.
  void refuse_history(const Status& why);
  void after(Nanos delay, void (Node::*step)());
  NodeRecord record() const;

  etcd::Executor& executor_;
  etcd::Client& client_;
  const NodeOptions options_;
  const Keys keys_;
  const LocalPosition start_position_;
  const Events events_;
  Role role_ = Role::Joining;
  bool ended_ = false;

  std::string cluster_id_;  // Empty: the directory belongs to no cluster yet.
  uint64_t joining_ = 0;    // Counts join(). Only the answer to the newest call counts.
  bool has_lease_ = false;  // There is a lease, or one is asked for.
  bool follows_ = false;    // The follower was started.

  BatchIndex base_ = 0;  // The log begins after it.
  BatchIndex applied_ = 0;
  BatchIndex flushed_ = 0;
  etcd::Revision revision_ = 0;       // Of etcd, when this node last published its record.
  etcd::Revision node_revision_ = 0;  // Of this node's key, as it was read last.
  Nanos name_taken_since_ = 0;        // 0: no other directory has this node's name.
  bool publishes_ = false;
  // Of those that follow or lead; soon after the start of this node, also of those that join.
  std::vector<Nanos> clocks_of_others_;
  ClusterTime time_;
  TakeoverTime takeover_time_;
  // The first leader that this node has seen since its start; 0: none.
  uint64_t first_leader_epoch_ = 0;
  // What heard_in_log() was told last.
  struct HeardInLog {
    Nanos time = 0;
    uint64_t epoch = 0;
    Nanos at = 0;
  };
  std::optional<HeardInLog> heard_in_log_;
  // The others that were in etcd at this node's first look, or at the first one after etcd had gone
  // back in time, and have not written their record since, with the revision of that. Those that
  // are alive do so each second, if etcd answers them. None: it has not looked yet.
  std::optional<std::map<std::string, etcd::Revision>> unheard_;
  Nanos unheard_since_ = 0;
  bool may_lead_by_clock_ = false;
  bool compares_clocks_ = false;  // Other nodes have had an interval to publish theirs.
  bool is_current_ = false;       // All that the log had when it was last read was passed on.

  // Entries that were passed on to the owner and are not applied yet.
  struct Passed {
    BatchIndex index = 0;
    size_t bytes = 0;
  };
  std::deque<Passed> passed_;
  size_t passed_bytes_ = 0;
  bool waits_for_replica_ = false;

  std::optional<Election::Won> won_;
  BatchIndex last_ = 0;        // The last entry of the log when this node was elected.
  bool tail_is_read_ = false;  // This node was elected, and has passed on the whole log.
  BatchIndex trimming_ = 0;    // The append under way deletes the entries before it. 0: none.
  uint64_t newest_hash_ = 0;   // hash_of_entry() of the newest entry. 0: there is none.
  bool others_read_chains_ = false;
  uint8_t others_read_ = batch_format_with_fields;
  LogSize log_;
  std::vector<NodeRecord> others_;  // The other nodes that are there.
  Maintenance maintenance_;
  // The identity of the repair request that this node is accepting, by deleting its key. Whether
  // etcd has deleted it may be unknown.
  std::optional<std::string> repair_;
  std::vector<BatchIndex> flushed_by_others_;
  std::optional<HandoverRecord> handover_;  // To whom this leader hands over.
  bool has_space_ = true;
  bool is_damaged_ = false;
  std::optional<bool> reaches_leader_;
  SettingDigests settings_;
  SettingDigests leader_settings_;      // Of the last leader whose record was read.
  std::vector<std::string> differing_;  // From the leader's settings.
  Nanos may_hand_over_at_ = 0;          // Before that it does not hand over for disk space.
  etcd::Revision compact_next_ = 0;
  // What the members of etcd answered when they were asked last. members_asked_ counts the answers
  // that have not come yet.
  std::vector<etcd::MemberStatus> members_;
  size_t members_asked_ = 0;
  Nanos may_disarm_at_ = 0;
  bool etcd_has_space_ = true;
  Puts puts_ = Puts::Accepted;

  Lease lease_;
  Follower follower_;
  Election election_;
  Appender appender_;
};

}  // namespace perennial::store::cluster
