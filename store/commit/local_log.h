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
#include "store/commit/quick_syncs.h"
#include "store/commit/sync_state.h"
#include "store/store.h"

namespace perennial::store {

// The log of one machine: RocksDB's own, in the data directory. A batch is committed and applied by
// one write, and, where the mode of durability asks for it, synced by the same:
//
//   commit    the three indices move together, with each batch;
//   interval  committed and applied when the kernel has the batch, durable within the interval;
//   never     the same, and durable when something else needs a sync: a next id, a cut, the end.
//
// It is the only writer of a store that serves, by one thread that takes one batch at a time (the
// committer). While that writes and syncs, the loop fills the next batch.
//
// A small batch it writes in append() itself, on the loop's own thread, while the latest syncs were
// all so quick that the loop may wait for one more: handing over to a thread and back takes half as
// long again as a quick sync.
//
// After a failure, which the store has reported, it says nothing any more, and takes nothing.
class LocalLog final : public Log {
 public:
  // `wake` is called on the committer's thread. `store` outlives this.
  LocalLog(Store& store, std::function<void()> wake);
  ~LocalLog() override { end(); }

  bool idle() const override { return queue_.idle(); }
  Appended append(Batch&& batch) override;
  void cut(std::string dir) override;
  News collect() override;
  bool busy() const override { return !idle() || progress() % 2 == 1; }
  uint64_t progress() const override { return progress_.load(std::memory_order_relaxed); }
  void stop() override { end(); }

 private:
  void end();
  // Writes the batch on the caller's thread. False, with the batch as it was, when it is not small,
  // when answers do not wait for a sync, when the thread has something else to do, and unless the
  // latest syncs were quick.
  bool commit_here(Batch& batch);
  void run();
  void work(LogQueue::Item& item);
  // What is due besides batches.
  void sync_and_look();
  // Until there is something to look at.
  Nanos wait_max() const;
  void commit(Batch& batch);
  void make_cut(const std::string& dir);
  void sync();
  void note_sync(Nanos took);
  void publish(Batch& batch, Nanos took);
  void look_around();
  void sync_durable_mark();
  void refresh_stats(Nanos now);

  Store& store_;
  const std::function<void()> wake_;
  LogQueue queue_;
  std::atomic<uint64_t> progress_ = 0;  // Odd while it works.

  // Held by whichever thread writes; taken before mutex_. Guards what follows.
  std::mutex writing_;
  SyncState state_;
  QuickSyncs quick_syncs_;
  CommitStats stats_;
  DiskWatch watch_;
  Nanos mark_due_ = 0;

  std::mutex mutex_;  // Guards the news on their way to the loop.
  News news_;

  Housekeeper housekeeper_;
  std::thread thread_;
};

}  // namespace perennial::store
