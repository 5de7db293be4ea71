#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cmd/perenniald/core/batch_queue.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "engine/engine.h"
#include "engine/types/body.h"
#include "store/types/options.h"

namespace perennial::core {

// What room there is for puts: on the disk, in memory, and on the way to the log. A put for which
// there is none on the disk or in memory is refused; one that would only have to wait for the log
// waits.
class PutRoom {
 public:
  // All of them outlive it. `pending_bytes_max`: so much may be on its way.
  PutRoom(const engine::Engine& engine, const MemoryBudget& budget, const BatchQueue& batches,
          size_t pending_bytes_max)
      : engine_(engine),
        budget_(budget),
        batches_(batches),
        pending_bytes_max_(pending_bytes_max) {}

  // ---- What the store says of itself.
  void on_disk_room(bool has_room) { disk_has_room_ = has_room; }
  void on_disk_left(const store::DiskLeft& left) { disk_left_ = left; }
  void on_behind(bool is_behind) { store_is_behind_ = is_behind; }
  bool disk_has_room() const { return disk_has_room_; }

  // ---- Whether there is room for any job; for one with this body; and for how large a one that is
  // still coming, of which its connection holds so many bytes.
  bool any() const { return disk_has_room_ && memory_left() > 0; }
  bool has(const Body& body) const {
    return any() && body.capacity() <= memory_left() && body.size() <= disk_bytes_max();
  }
  // What the connection holds is not left any more.
  size_t body_bytes_max(size_t held_bytes) const {
    const size_t left = memory_left();
    return std::min(disk_bytes_max(), left == SIZE_MAX ? left : left + held_bytes);
  }

  // Whether a put has to wait for the log: every answer waits for the batches before it.
  bool must_wait() const {
    constexpr size_t sealed_max = 4;
    return store_is_behind_ || batches_.sealed_count() > sealed_max ||
           batches_.pending_bytes() > pending_bytes_max_;
  }

 private:
  size_t memory_left() const { return budget_.memory_left(engine_.memory_bytes()); }

  // How large a body may be that the disk has room for. It is written three times: to the log, to a
  // table, and by a compaction. So is all that is on its way.
  size_t disk_bytes_max() const {
    if (disk_left_.bytes == store::DiskLeft().bytes) return SIZE_MAX;
    constexpr uint64_t times_written = 3;
    // Of bodies that are no larger the mark itself takes care.
    constexpr uint64_t small_body_bytes = 1 << 20;
    const uint64_t whole = (disk_left_.bytes + disk_left_.slack_bytes) / times_written;
    const uint64_t left = whole - std::min<uint64_t>(whole, batches_.pending_bytes());
    return std::min(left, std::max(disk_left_.bytes / times_written, small_body_bytes));
  }

  const engine::Engine& engine_;
  const MemoryBudget& budget_;
  const BatchQueue& batches_;
  const size_t pending_bytes_max_;
  bool disk_has_room_ = true;
  store::DiskLeft disk_left_;
  bool store_is_behind_ = false;
};

}  // namespace perennial::core
