#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/types/basic.h"
#include "engine/types/stats.h"
#include "store/batch/batch.h"
#include "store/commit/housekeeper.h"
#include "store/commit/log.h"
#include "store/commit/recent.h"
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

  bool idle() const override { return idle_.load(std::memory_order_acquire); }
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
  template <typename Work>
  void submit(std::optional<Work>& place, Work work);
  void run();
  void work(std::unique_lock<std::mutex>& lock);
  // What is due besides batches.
  void sync_and_look();
  // Until there is something to do, or to look at.
  void wait(std::unique_lock<std::mutex>& lock);
  void commit(Batch batch);
  void make_cut(const std::string& dir);
  void sync();
  bool sync_is_due() const;
  bool must_sync(const Batch& batch) const;
  void note_sync(Nanos took);
  void publish(Batch batch, Nanos took);
  bool look_is_due() const;
  void look_around();
  void sync_durable_mark();
  void refresh_facts();

  Store& store_;
  const std::function<void()> wake_;
  std::atomic<bool> idle_ = true;
  std::atomic<uint64_t> progress_ = 0;  // Odd while it works.

  // Held by whichever thread writes; taken before mutex_. Guards what follows.
  std::mutex writing_;
  BatchIndex written_;
  BatchIndex synced_;
  Nanos sync_due_ = 0;  // While written_ is ahead of synced_, in the mode Interval.
  Nanos facts_due_ = 0;
  Nanos look_due_ = 0;
  Nanos mark_due_ = 0;
  uint64_t looked_at_bytes_ = 0;  // How much had been written at the last look.
  StoreFacts facts_;
  Recent sync_us_;
  unsigned quick_syncs_ = 0;  // How many in a row, up to the latest.
  Recent batch_jobs_;

  std::mutex mutex_;  // Guards what passes between the two threads.
  std::condition_variable changed_;
  std::optional<Batch> submitted_;
  std::optional<std::string> cut_dir_;  // Never while there is a batch.
  News news_;
  bool stopping_ = false;

  Housekeeper housekeeper_;
  std::thread thread_;
};

}  // namespace perennial::store
