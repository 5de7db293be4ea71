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

// The batches between engine and log, in order: one that is open, some that are sealed and wait for
// the log, and those that it has, of which only the size is known here.
class BatchQueue {
 public:
  struct Limits {
    // Past so many bytes the open batch is closed. One job that is larger travels alone.
    size_t bytes_max = 4 << 20;
    // How long transitions that nobody was promised may wait for company.
    Nanos idle = 100 * nanos_per_ms;
  };
  explicit BatchQueue(const Limits& limits) : limits_(limits) {}

  // Goes on behind the last batch on disk, with batches of this epoch. REQUIRES: it is empty.
  void resume(uint64_t epoch, BatchIndex last_index);

  // ---- What goes in.
  // A batch takes all of an input or nothing, so that a tube's row and its first job stay together:
  // seals the open one if it is full, or would be with a body of so many bytes. To be called before
  // the first add() of each input that has transitions.
  void begin_input(size_t body_bytes, Nanos now);
  // `body`: store::Batch::add().
  void add(const Transition& transition, std::string_view body);
  // The open one ends here, if there is anything in it.
  void seal(Nanos now);

  // ---- What goes out.
  bool empty() const { return sealed_.empty() && open_.empty(); }
  // Whether one should go now, if the log is idle. `wait_until`: how long the open one should wait
  // for company, though somebody was promised what is in it.
  bool is_due(Nanos now, Nanos wait_until) const;
  // When that will be. None: nothing waits.
  std::optional<Nanos> due_at(Nanos wait_until) const;
  // Whether the next is so large that it should not wait for the end of the turn.
  bool is_large() const;
  // Whether more may come into what take() would give.
  bool next_is_open() const { return sealed_.empty(); }
  // The next, sealed. REQUIRES: !empty().
  store::Batch take(Nanos now);
  // Whether all up to this one were taken. REQUIRES: it is not the open one.
  bool has_taken(BatchIndex index) const {
    return sealed_.empty() || sealed_.front().index() > index;
  }
  // One that was taken comes back, for its memory.
  void recycle(store::Batch&& batch);
  // What the log says: batches up to `answerable` count no longer as on their way; up to `durable`
  // the disk has them, which those that follow note. Neither goes back.
  void on_durable(BatchIndex answerable, BatchIndex durable);

  // ---- What is known of them.
  // The number that the open one will have.
  BatchIndex open_index() const { return open_index_; }
  // The newest that holds a promised transition; or the last on disk.
  BatchIndex last_promised() const { return last_promised_; }
  bool open_is_promised() const { return open_.promised(); }
  size_t sealed_count() const { return sealed_.size(); }
  // Of those that are not answerable yet, the open one among them.
  size_t pending_bytes() const { return pending_bytes_; }
  // The newest that the log has said it has.
  BatchIndex answerable() const { return answerable_; }
  // Whether the log has all that ever went in.
  bool is_settled() const { return empty() && answerable_ + 1 == open_index_; }

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
  BatchIndex answerable_ = 0;
  BatchIndex durable_ = 0;
  size_t pending_bytes_ = 0;
  std::deque<std::pair<BatchIndex, size_t>> pending_sizes_;  // Of those that are sealed.
};

}  // namespace perennial::core
