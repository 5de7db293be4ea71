#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/batch/batch.h"
#include "store/cluster/log_size.h"
#include "store/commit/local_log.h"
#include "store/commit/log.h"
#include "store/etcd/etcd.h"
#include "store/format/format.h"
#include "store/store.h"

namespace perennial::store::cluster {

// The log of a cluster, as one node's server and database see it. A leader's batch is encoded,
// appended to the log in etcd, and applied to the database of this node when it is committed there.
// An entry of another leader is decoded, checked and applied. So nothing enters the database that
// is not committed, and nothing is ever rolled back.
//
// It writes to the local log in the mode `interval`: each batch is written without a sync, and
// synced later. What is durable there is what this node publishes as flushed, so that the leader
// may trim the log in etcd.
//
// All nodes apply the same rows. The epoch and the durable index of a batch differ between nodes:
// each directory counts its own epochs and knows what its own disk holds, because recovery checks
// the directory's log by them (recovery/README.md). So a batch gets both anew before it is applied.
//
// Two threads use it: the loop, by the functions of Log, and the executor's, by the others.
class ClusterLog final : public Log {
 public:
  struct Links {
    // These are called on the executor's thread.
    std::function<void(BatchIndex, std::string bytes)> append;
    std::function<void(BatchIndex applied, BatchIndex flushed)> progress;
    // Whether the disk has space for the jobs of puts. Called every 100 ms.
    std::function<void(bool has_space)> space;
    // The time of an entry of another leader, and its epoch, before the entry is applied.
    std::function<void(Nanos time, uint64_t epoch)> heard = [](Nanos, uint64_t) {};
    // The database is damaged on disk: Store::damage(). Called once.
    std::function<void(const std::string& what)> disk_damaged;
    // An entry is damaged, or was written by a newer version. Nothing follows.
    std::function<void(Status)> damaged;
    std::function<void()> wake;  // Of the loop, on any thread.
  };

  // `store` and `executor` outlive this. REQUIRES: the executor is stopped before this ends, so
  // that it runs nothing that was posted here.
  ClusterLog(Store& store, etcd::Executor& executor, Links links);
  ~ClusterLog() override;

  // -- On the executor's thread.
  // Applies the next entry of the log.
  void add_entry(BatchIndex index, std::string bytes);
  // The batch that was appended last is in the log.
  void on_committed(BatchIndex index);
  void set_puts(Puts puts);
  // Whether appends have failed for a while: Node::Events::waits.
  void set_waits(bool waits);
  // Node::Events::reads_batches.
  void set_batch_format_max(uint8_t format) { batch_format_max_ = format; }

  // -- On any thread.
  // Makes `dir` with a copy of the database as it is right after batch `index`: as
  // Store::create_checkpoint() does. 0: as it is after what was to be applied when this was called.
  // `done` is called on the executor's thread with the index of the last batch in the copy, unless
  // the executor ends before. InvalidArgument: a later batch was applied already, whose index the
  // message names; or the directory cannot be used.
  using CheckpointDone = std::function<void(Result<BatchIndex>)>;
  void checkpoint_at(BatchIndex index, std::string dir, CheckpointDone done);

  // -- On the loop's thread.
  bool idle() const override { return under_way_.load(std::memory_order_acquire) == 0; }
  Appended append(Batch&& batch) override;
  void checkpoint(std::string dir) override;
  Update collect() override;
  uint8_t batch_format_max() const override { return batch_format_max_; }
  // The watchdog watches the disk only. A majority of etcd may be out of reach for longer.
  bool busy() const override { return local_.busy(); }
  uint64_t progress() const override { return local_.progress(); }
  void stop() override;

 private:
  // One step to apply to the database, in order: a batch, or a checkpoint.
  struct Step {
    Batch batch;
    std::string entry;       // Holds the bodies of the batch; empty: the batch is the server's own.
    std::string checkpoint;  // Its directory; empty: none.
    // Of a checkpoint that the server has not asked for; otherwise null.
    CheckpointDone done = nullptr;
    BatchIndex index = 0;  // The last batch that was given to the local log before, or with, it.
  };
  // A checkpoint that waits for a batch that has not come yet.
  struct Awaited {
    BatchIndex index = 0;
    std::string dir;
    CheckpointDone done;
  };

  Status check(const Batch& batch, BatchIndex index) const;
  void add_step(Step step);
  void place_checkpoint(Awaited checkpoint);
  void pump();
  void finish_checkpoint(CheckpointCreated created);
  void on_local();
  void take_progress();
  void refresh_later();
  void run_and_wait(const std::function<void(std::function<void()>)>& work);
  bool is_drained() const { return !sent_ && steps_.empty() && applying_.empty(); }

  Store& store_;
  etcd::Executor& executor_;
  const Links links_;
  std::atomic<size_t> under_way_ = 0;  // Appends and checkpoints.
  std::atomic<uint8_t> batch_format_max_ = batch_format_with_fields;

  // Of the executor's thread.
  std::optional<Batch> sent_;  // Appended and not yet committed.
  Nanos sent_at_ = 0;
  std::string checkpoint_after_sent_;  // Its directory; empty: none.
  std::deque<Step> steps_;
  std::deque<Step> applying_;  // Given to the local log; their batches are moved out.
  std::vector<Awaited> awaited_;
  BatchIndex added_ = 0;  // The newest batch in steps_ or before.
  BatchIndex given_ = 0;  // The newest batch that was given to the local log.
  uint64_t epoch_ = 0;    // Of the newest entry.
  bool is_damaged_ = false;
  bool disk_is_damaged_ = false;
  std::function<void()> on_drained_;  // Set by stop().

  std::mutex mutex_;  // Guards update_, puts_ and waits_.
  Update update_;
  Puts puts_ = Puts::Accepted;
  bool waits_ = false;

  LocalLog local_;  // Last: its thread calls on_local().
};

}  // namespace perennial::store::cluster
