#pragma once

#include <cstdint>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/stats.h"
#include "store/batch/batch.h"
#include "store/commit/recent.h"
#include "store/rocks/log_files.h"
#include "store/types/options.h"

namespace perennial::store {

// The store's part of `stats`, which is published with each batch: what was written, and how long
// the latest syncs took. Figures that are expensive to compute are refreshed once a second.
class CommitStats {
 public:
  explicit CommitStats(const Options& options);

  void on_batch(const Batch& batch);
  void on_sync(Nanos took) {
    sync_us_.add(static_cast<uint64_t>(took) / 1000);
    facts_.batches.syncs.record_time(took);
  }
  // DiskSeen::state.
  void set_state(std::string_view state) { facts_.state = state; }

  bool is_due(Nanos now) const { return now >= due_; }
  // Computes the expensive figures. `logs`: the oldest and the newest log file.
  void refresh(Nanos now, const LogFiles& logs);

  const StoreFacts& facts() const { return facts_; }

 private:
  StoreFacts facts_;
  Recent sync_us_;
  Recent batch_jobs_;
  Nanos due_ = 0;
};

}  // namespace perennial::store
