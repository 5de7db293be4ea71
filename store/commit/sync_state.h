#pragma once

#include <algorithm>

#include "engine/types/basic.h"
#include "store/commit/log.h"
#include "store/types/options.h"

namespace perennial::store {

// Records how far the local log is written and synced, and computes when the next sync is due. It
// is pure: the caller passes the time and does the syncs.
class SyncState {
 public:
  // `last`: the index up to which everything is synced.
  SyncState(const Options& options, BatchIndex last)
      : durability_(options.durability),
        interval_(options.sync_interval_ms * nanos_per_ms),
        written_(last),
        synced_(last) {}

  // Returns whether this batch must be synced before its replies leave.
  bool must_sync(const Batch& batch) const {
    return batch.must_sync() || durability_ == Durability::Commit;
  }
  // Returns whether every reply waits for a sync.
  bool always_syncs() const { return durability_ == Durability::Commit; }

  void on_written(BatchIndex index, Nanos now) {
    if (written_ == synced_) due_ = now + interval_;
    written_ = std::max(written_, index);
  }
  // Called when a sync has ended that began after the last on_written().
  void on_synced() { synced_ = written_; }

  // Returns whether the next batch without a sync determines when the next sync is due.
  bool begins_interval() const { return durability_ == Durability::Interval && is_synced(); }

  bool is_synced() const { return written_ == synced_; }
  // Returns whether the interval is over, in the mode that has one.
  bool is_due(Nanos now) const { return has_due() && now >= due_; }
  // Returns the time until the next sync is due, at most `at_most`; `at_most` if no sync is due.
  Nanos left(Nanos now, Nanos at_most) const {
    return has_due() ? std::clamp<Nanos>(due_ - now, 0, at_most) : at_most;
  }

  LogIndices indices() const {
    return {.committed = written_, .applied = written_, .durable = synced_};
  }

 private:
  bool has_due() const { return durability_ == Durability::Interval && !is_synced(); }

  const Durability durability_;
  const Nanos interval_;
  BatchIndex written_;
  BatchIndex synced_;
  Nanos due_ = 0;  // Valid while written_ is ahead of synced_.
};

// Decides whether the loop may wait for a commit itself, which is a write and, in the mode that
// syncs each batch, its sync. It may after `in_a_row_min` commits in a row that took at most
// `quick`, and until one takes longer.
class QuickCommits {
 public:
  static constexpr Nanos quick = nanos_per_ms;
  static constexpr unsigned in_a_row_min = 16;

  void add(Nanos took) { in_a_row_ = took <= quick ? in_a_row_ + 1 : 0; }
  bool may_wait() const { return in_a_row_ >= in_a_row_min; }

 private:
  unsigned in_a_row_ = 0;
};

}  // namespace perennial::store
