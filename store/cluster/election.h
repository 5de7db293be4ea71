#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "store/cluster/keys.h"
#include "store/cluster/maintenance.h"
#include "store/cluster/records.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// Who leads, and when this node campaigns. The leader's key holds its record and belongs to its
// lease, so that it goes when the lease expires. An election is one transaction: it compares the
// key with what this node has read, writes it anew and raises the epoch. The key's revision is the
// fencing token of every append, so an election that comes too early harms nobody: the old leader
// can append nothing after it.
//
// A node campaigns
// - at once, if the key names its own data directory on the same kernel: the directory's lock
//   proves that the former process has ended;
// - at once, when it is told that the leader's process has ended: leader_has_ended();
// - if there is no leader: each standby in its turn, place_delay after the one before. Those whose
//   disks have space for puts come before those whose disks have none, which wait space_delay
//   longer; among them the one with the higher priority comes first, then the one that has applied
//   more, then the one with the earlier name. A leader that hands over to a certain node leaves its
//   name in the key `next`, and the others let that one try first. The election that follows,
//   whoever wins it, deletes `next`.
// A node that shall never lead is never ready: set_ready(). One that an operator has asked not to
// lead for a while (Maintenance) does not campaign.
//
// A node is elected only if the log holds the newest batch that any node is known to hold, be the
// node present or refused (RefusalRecord). Otherwise etcd was restored from an older snapshot, and
// a leader would go on without batches that were acknowledged.
class Election {
 public:
  struct Won {
    etcd::Revision token = 0;  // The fencing token.
    uint64_t epoch = 0;
    bool is_named = false;  // The former leader has handed over to this node.
  };
  // Why a node does not campaign although it is its turn.
  enum class Abstention : uint8_t { Resigned, Paused };
  // The newest batch that a node says it holds.
  struct Claim {
    std::string node;
    BatchIndex index = 0;
  };
  struct Events {
    std::function<void(const Won&)> won;
    // This node led, and does not any more. Nothing is reported after.
    std::function<void(std::string why)> lost;
    // Another node leads, or none. Called when that changes, and once in the beginning.
    std::function<void(const std::optional<LeaderRecord>&)> leader;
    // This node may not lead, because the log does not hold the batch that another node holds.
    std::function<void(const Claim&)> outrun;
    // It is this node's turn to campaign, and it does not. Called once a second while that is so.
    std::function<void(Abstention)> abstains;
    // An attempt failed and will be retried.
    std::function<void(const etcd::Failure&)> failed;
  };

  // `me`: what this node writes to the leader's key, except the epoch. `executor`, `client` and
  // `keys` outlive this.
  Election(etcd::Executor& executor, etcd::Client& client, const Keys& keys, LeaderRecord me,
           Events events);

  // Observes the leader's key, with this lease for an election. REQUIRES: not started.
  void start(etcd::LeaseId lease);
  void stop();
  // Whether this node may campaign: it has applied all that the log had when it was last read.
  void set_ready(bool ready);
  // The process that leads in this epoch has ended: its machine answers, and it does not.
  void leader_has_ended(uint64_t epoch);
  // Gives up the lead: deletes the leader's key if it is still this node's. `next`: the node that
  // shall lead next; empty: any. `done` follows.
  void resign(const std::string& next, std::function<void()> done);

  bool leads() const { return won_.has_value(); }
  // Who leads, as far as is known. None: nobody, or this node does not observe it (start()).
  const std::optional<LeaderRecord>& leader() const { return leader_; }

 private:
  void read_keys();
  void read_periodically();
  void on_read(const etcd::Outcome<etcd::TransactionDone>& outcome);
  void decide();
  void watch(etcd::Revision from);
  void campaign();
  void campaign_after(Nanos delay);
  std::optional<Abstention> abstention() const;
  void read_later();
  // The newest one of all nodes.
  Claim newest_claim() const;
  // How many standbys come before this one.
  size_t place() const;
  // How long this node lets others campaign first: when there is no leader, and when the leader's
  // process has ended, which the others learn in the same moment.
  Nanos turn_delay() const;
  Nanos ended_delay() const;
  // The part of these delays that is due to its disk having no space for puts while another has.
  Nanos space_wait() const;
  void on_campaigned(uint64_t epoch, const Claim& claim,
                     const etcd::Outcome<etcd::TransactionDone>& outcome);
  // The times of the elections that are known, and of one at this moment.
  ElectionTimes with_this_one() const;
  void win(etcd::Revision token, uint64_t epoch);
  void after(Nanos delay, void (Election::*step)());

  etcd::Executor& executor_;
  etcd::Client& client_;
  const Keys& keys_;
  const LeaderRecord me_;
  const Events events_;
  etcd::LeaseId lease_ = 0;
  etcd::WatchId watch_ = 0;  // 0: none.
  bool ready_ = false;
  uint64_t generation_ = 0;  // Counts start() and stop(). An answer to an earlier call is ignored.
  // Counts reads of the keys and won elections. Only the answer to the newest read counts.
  uint64_t reading_ = 0;

  // As it was read last.
  std::optional<LeaderRecord> leader_;
  etcd::Revision leader_revision_ = 0;
  etcd::LeaseId leader_lease_ = 0;
  uint64_t epoch_ = 0;
  etcd::Revision epoch_revision_ = 0;
  BatchIndex base_ = 0;
  std::vector<NodeRecord> nodes_;
  std::vector<RefusalRecord> refusals_;
  Maintenance maintenance_;
  ElectionTimes elections_;
  std::string next_;  // The node that shall lead next. Empty: any.
  // Of the last attempt, which deletes `next` before its outcome is known.
  bool campaigns_as_named_ = false;
  bool leader_ended_ = false;  // The leader that was read last is known to have ended.

  std::optional<std::optional<LeaderRecord>> reported_;  // What the last event `leader` reported.
  std::optional<Won> won_;
};

}  // namespace perennial::store::cluster
