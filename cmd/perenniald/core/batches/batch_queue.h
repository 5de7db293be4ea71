#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/transition.h"
#include "store/batch/batch.h"

namespace perennial::core {

// The batches between engine and log, in order: the open batch, sealed batches that wait for the
// log, and batches that the log has. Of the last only the sizes are known here.
class BatchQueue {
 public:
  struct Limits {
    // The size in bytes at which the open batch is sealed. A single larger job gets a batch of its
    // own.
    size_t bytes_max = 4 << 20;
    // How long recoverable transitions may wait in the open batch before it is due.
    Nanos idle = 100 * nanos_per_ms;
  };
  explicit BatchQueue(const Limits& limits) : limits_(limits) {}

  // Continues after the last batch on disk, with batches of this epoch. REQUIRES: empty().
  void resume(uint64_t epoch, BatchIndex last_index);

  // ---- What goes in.
  // Seals the open batch if it is full, or would be with a body of this size. Call it before the
  // first add() of each input that has transitions. All transitions of an input go into one batch,
  // so that a tube's row and its first job are written together.
  void begin_input(size_t body_bytes, Nanos now);
  // `body`: as in store::Batch::add().
  void add(const Transition& transition, std::string_view body);
  // Seals the open batch, unless it is empty.
  void seal(Nanos now);

  // ---- What goes out.
  bool empty() const { return sealed_.empty() && open_.empty(); }
  // Whether a batch should go to the log now, provided that the log is idle. `wait_until`: the end
  // of the commit delay of the open batch, if it holds a promised transition.
  bool is_due(Nanos now, Nanos wait_until) const;
  // When the open batch becomes due. None: it is empty.
  std::optional<Nanos> due_at(Nanos wait_until) const;
  // Whether the next batch is so large that it should not wait for the end of the turn.
  bool is_large() const;
  // Whether take() would give the open batch, so that transitions may still join it.
  bool next_is_open() const { return sealed_.empty(); }
  // Seals the next batch if it is open, and returns it. REQUIRES: !empty().
  store::Batch take(Nanos now);
  // Whether all batches up to this one were taken. REQUIRES: it is not the open batch.
  bool has_taken(BatchIndex index) const {
    return sealed_.empty() || sealed_.front().index() > index;
  }
  // Keeps a written batch, so that its memory is used again.
  void recycle(store::Batch&& batch);
  // Batches up to `committed` no longer count as pending. The disk has batches up to `durable`, and
  // the batches sealed from now on record that. Neither index goes back.
  void on_committed(BatchIndex committed, BatchIndex durable);

  // ---- What is known of them.
  // The index that the open batch will have.
  BatchIndex open_index() const { return open_index_; }
  // The newest batch that holds a promised transition, or the last batch on disk.
  BatchIndex last_promised() const { return last_promised_; }
  bool open_is_promised() const { return open_.promised(); }
  size_t sealed_count() const { return sealed_.size(); }
  // Bytes of all batches that are not committed, the open batch among them.
  size_t pending_bytes() const { return pending_bytes_; }
  // The newest batch that is committed, as the log has reported it.
  BatchIndex committed() const { return committed_; }
  // Whether every transition that was added is committed.
  bool all_committed() const { return empty() && committed_ + 1 == open_index_; }

 private:
  bool open_is_full() const;

  const Limits limits_;
  store::Batch open_;
  uint64_t epoch_ = 1;
  BatchIndex open_index_ = 1;
  Nanos open_since_ = 0;
  std::deque<store::Batch> sealed_;
  std::vector<store::Batch> spare_;
  BatchIndex last_promised_ = 0;
  BatchIndex committed_ = 0;
  BatchIndex durable_ = 0;
  size_t pending_bytes_ = 0;
  std::deque<std::pair<BatchIndex, size_t>> pending_sizes_;  // Of sealed batches.
};

}  // namespace perennial::core
