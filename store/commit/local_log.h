#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "engine/types/basic.h"
#include "store/batch/batch.h"
#include "store/commit/commit_stats.h"
#include "store/commit/disk_watch.h"
#include "store/commit/housekeeper.h"
#include "store/commit/log.h"
#include "store/commit/log_queue.h"
#include "store/commit/sync_state.h"
#include "store/store.h"

namespace perennial::store {

// The log of one machine: RocksDB's write-ahead log in the data directory. One write commits and
// applies a batch, and also syncs it if the durability mode requires that:
//
//   commit    the three indices move together, with each batch;
//   interval  committed and applied when the kernel has the batch, durable within the interval;
//   never     the same, and durable with the next sync: for a next id, a checkpoint or the stop.
//
// This is the only writer of a store that serves clients. Its thread, the committer, takes one
// batch at a time. While the committer writes and syncs, the loop fills the next batch.
//
// append() itself writes a small batch on the loop's thread if the latest commits were all quick.
// The handover to the committer and back costs half the time of a quick sync, and several times
// that of a write without one, so always handing over would make such commits slower. Where the
// loop's thread is what limits the server, only very small ones are worth its time:
// Options::caller_operations_max.
//
// After a failure, which the store has reported, the log reports nothing and is never idle again:
// Store::Impl::fail_on_error() in write.cc says why.
class LocalLog final : public Log {
 public:
  // `wake` is called on the committer's thread. `store` outlives this.
  LocalLog(Store& store, std::function<void()> wake);
  ~LocalLog() override { end(); }

  bool idle() const override { return queue_.idle(); }
  Appended append(Batch&& batch) override;
  void checkpoint(std::string dir) override;
  Update collect() override;
  bool busy() const override { return !idle() || progress() % 2 == 1; }
  uint64_t progress() const override { return progress_.load(std::memory_order_relaxed); }
  void stop() override { end(); }

 private:
  void end();
  // Writes the batch on the caller's thread. Returns false and leaves the batch unchanged if the
  // batch is not small, the committer is at work, a poll is due, the latest commits were not quick,
  // or the batch begins an interval or needs a sync in a mode that does not sync each batch.
  bool commit_here(Batch& batch);
  void run();
  void work(LogQueue::Item& item);
  // Does the sync, the poll and the sync of the durable mark that are due.
  void sync_and_poll();
  // Returns how long the committer may wait for a batch before sync_and_poll() is due.
  Nanos wait_max();
  void commit(Batch& batch);
  void create_checkpoint(const std::string& dir);
  void sync();
  void publish(Batch& batch, Nanos took);
  void poll_disk_state();
  void sync_durable_mark();
  void refresh_stats(Nanos now);

  Store& store_;
  const std::function<void()> wake_;
  LogQueue queue_;
  std::atomic<uint64_t> progress_ = 0;  // Odd while a thread works.

  // Held by the thread that writes, and locked before mutex_. Guards the members below.
  std::mutex writing_;
  SyncState state_;
  QuickCommits quick_commits_;
  CommitStats stats_;
  DiskWatch watch_;
  Nanos mark_due_ = 0;

  std::mutex mutex_;  // Guards update_, which the loop collects.
  Update update_;

  Housekeeper housekeeper_;
  std::thread thread_;
};

}  // namespace perennial::store
