#pragma once

#include <algorithm>

#include "engine/types/basic.h"
#include "store/commit/log.h"
#include "store/types/options.h"

namespace perennial::store {

// How far the local log has been written and synced, and when the next sync is due. Pure: it is
// told the time, and syncs nothing itself.
class SyncState {
 public:
  // `last`: everything up to here is synced.
  SyncState(const Options& options, BatchIndex last)
      : durability_(options.durability),
        interval_(options.sync_interval_ms * nanos_per_ms),
        written_(last),
        synced_(last) {}

  // Whether this batch is synced before anybody is answered.
  bool must_sync(const Batch& batch) const {
    return batch.must_sync() || durability_ == Durability::Commit;
  }
  // Whether every answer waits for a sync.
  bool always_syncs() const { return durability_ == Durability::Commit; }

  void on_written(BatchIndex index, Nanos now) {
    if (written_ == synced_) due_ = now + interval_;
    written_ = std::max(written_, index);
  }
  // A sync that was begun when all of this was written has ended.
  void on_synced() { synced_ = written_; }

  bool is_synced() const { return written_ == synced_; }
  // Whether the interval is over, in the mode that has one.
  bool is_due(Nanos now) const { return has_due() && now >= due_; }
  // How long until it is, and `at_most` if nothing is to be synced.
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
  Nanos due_ = 0;  // While written_ is ahead of synced_.
};

}  // namespace perennial::store
