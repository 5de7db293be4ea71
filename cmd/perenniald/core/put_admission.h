#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "cmd/perenniald/core/batches/batch_queue.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "engine/types/body.h"
#include "engine/view/engine_view.h"
#include "store/types/options.h"

namespace perennial::core {

// Decides whether a put is accepted, refused or has to wait. A put that does not fit the free disk
// space or the memory left is refused. A put that the write backlog delays waits, and puts that
// wait resume in the order in which they came.
class PutAdmission {
 public:
  // All of them outlive this. `pending_bytes_max`: bytes of uncommitted batches past which puts
  // wait.
  PutAdmission(engine::EngineView engine, const MemoryBudget& budget, const BatchQueue& batches,
               size_t pending_bytes_max)
      : engine_(engine),
        budget_(budget),
        batches_(batches),
        pending_bytes_max_(pending_bytes_max) {}

  // ---- What the store reports.
  void on_disk_space(bool accepts_puts) { disk_accepts_puts_ = accepts_puts; }
  void on_disk_left(const store::DiskLeft& left) { disk_left_ = left; }
  const store::DiskLeft& disk_left() const { return disk_left_; }
  void on_write_stall(bool stalled) { write_stalled_ = stalled; }
  bool disk_accepts_puts() const { return disk_accepts_puts_; }

  // ---- Whether any job is accepted; whether jobs with these bodies are; and how large the body of
  // a put may be that is still arriving, of which its connection holds `held_bytes`.
  bool accepts_any() const { return disk_accepts_puts_ && memory_left() > 0; }
  bool accepts(std::span<const Body> bodies) const {
    size_t capacity = 0;
    size_t size = 0;
    for (const Body& body : bodies) {
      capacity += body.capacity();
      size += body.size();
    }
    return accepts_any() && capacity <= memory_left() && size <= disk_bytes_max();
  }
  // The bytes that the connection holds are counted as used, and belong to the body, so they are
  // added.
  size_t body_bytes_max(size_t held_bytes) const {
    const size_t left = memory_left();
    return std::min(disk_bytes_max(), left == SIZE_MAX ? left : left + held_bytes);
  }

  // Of a put that is not accepted: whether the disk has no space for its body. Else the memory.
  bool lacks_disk(size_t body_bytes) const {
    return !disk_accepts_puts_ || body_bytes > disk_bytes_max();
  }

  // Whether a put has to wait for the log. Puts wait because every answer waits for the batches
  // before it.
  bool must_wait() const {
    constexpr size_t sealed_max = 4;
    return write_stalled_ || batches_.sealed_count() > sealed_max ||
           batches_.pending_bytes() > pending_bytes_max_;
  }
  // Adds a connection whose put waits. It may be closed before it is taken.
  void add_waiting(ConnId conn) { waiting_.push_back(conn); }
  // Whether the first need not wait any longer. If the disk accepts no puts, it resumes to be
  // refused.
  bool may_resume() const { return !waiting_.empty() && (!must_wait() || !disk_accepts_puts_); }
  // REQUIRES: may_resume().
  ConnId take_waiting() {
    const ConnId first = waiting_.front();
    waiting_.pop_front();
    return first;
  }

 private:
  size_t memory_left() const { return budget_.memory_left(engine_.memory_bytes()); }

  // The largest body for which the disk has free space. A body is written three times: to the log,
  // to a table, and by a compaction. The same holds for bytes of pending batches.
  size_t disk_bytes_max() const {
    if (disk_left_.bytes == store::DiskLeft().bytes) return SIZE_MAX;
    constexpr uint64_t times_written = 3;
    // The low-water mark leaves enough free space for bodies up to this size.
    constexpr uint64_t small_body_bytes = 1 << 20;
    const uint64_t whole = (disk_left_.bytes + disk_left_.slack_bytes) / times_written;
    const uint64_t left = whole - std::min<uint64_t>(whole, batches_.pending_bytes());
    return std::min(left, std::max(disk_left_.bytes / times_written, small_body_bytes));
  }

  const engine::EngineView engine_;
  const MemoryBudget& budget_;
  const BatchQueue& batches_;
  const size_t pending_bytes_max_;
  bool disk_accepts_puts_ = true;
  store::DiskLeft disk_left_;
  bool write_stalled_ = false;
  std::deque<ConnId> waiting_;
};

}  // namespace perennial::core
