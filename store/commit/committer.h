#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/stats.h"
#include "store/batch/batch.h"
#include "store/commit/housekeeper.h"
#include "store/commit/recent.h"
#include "store/store.h"

namespace perennial::store {

// The only writer of a store that serves: one thread that takes one batch at a time. While it
// writes and syncs, the loop fills the next one; that is the group commit. It decides nothing: it
// writes what it gets, in order, and says how far history is safe. After a failure it says nothing
// any more, and takes nothing.
//
// A small batch may be written on the loop's own thread: commit_here().
class Committer {
 public:
  // What became of a cut.
  struct Cut {
    Status status;
    Nanos took = 0;  // How long no batch could be written.
  };
  // Since the last collect().
  struct Done {
    BatchIndex answerable = 0;   // Replies tagged up to here may leave, in this mode of durability.
    BatchIndex durable = 0;      // The disk has everything up to here.
    Nanos took = 0;              // How long the last batch took, its sync included; 0: without one.
    std::vector<Batch> batches;  // Those written. Their bodies need to stay no longer.
    StoreFacts facts;
    bool room = true;     // Whether the disk has room for more jobs.
    bool behind = false;  // Whether puts should wait for flushes and compactions: debt.h.
    std::optional<Cut> cut;
  };

  // `wake` is called on the committer's thread whenever collect() has news.
  Committer(Store& store, std::function<void()> wake);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;
  ~Committer() { stop(); }

  // The loop thread's side. A batch is handed over sealed, when there is no other: REQUIRES:
  // idle().
  bool idle() const { return idle_.load(std::memory_order_acquire); }
  void submit(Batch&& batch);
  // Writes and syncs a small batch on the caller's thread instead, and then calls nobody: handing
  // over to a thread and back takes half as long again as a quick sync. False, with the batch as it
  // was: submit it. So it is when the batch is not small, when answers do not wait for a sync, when
  // the thread has something else to do, and unless the latest syncs were all so quick that the
  // loop may wait for one more. REQUIRES: idle().
  bool commit_here(Batch& batch);
  // Cuts a checkpoint, behind the last batch and before the next: checkpoint.h. Before that all is
  // made durable, in every mode. Its failure is in Done, and the committer goes on, unless the
  // store itself has failed. REQUIRES: idle().
  void submit_cut(std::string dir);
  Done collect();
  // For a watchdog, from any thread: whether there is work that has not ended, and a number that
  // changes whenever some begins or ends.
  bool busy() const { return !idle() || progress() % 2 == 1; }
  uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  // Writes what was submitted, makes everything durable, and ends the thread.
  void stop();

 private:
  template <typename Work>
  void submit(std::optional<Work>& place, Work work);
  void run();
  void work(std::unique_lock<std::mutex>& lock);
  // What is due besides batches.
  void sync_and_look();
  // Until there is something to do, or to look at.
  void wait(std::unique_lock<std::mutex>& lock);
  void commit(Batch batch);
  void cut(const std::string& dir);
  void sync();
  bool sync_is_due() const;
  bool must_sync(const Batch& batch) const;
  void note_sync(Nanos took);
  void publish(Batch batch, Nanos took);
  bool look_is_due() const;
  void look_around();
  void sync_durable_mark();
  void refresh_facts();

  Store& store_;  // Outlives this.
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
  Done done_;
  bool stopping_ = false;

  Housekeeper housekeeper_;
  std::thread thread_;
};

}  // namespace perennial::store
