#pragma once

#include <cstdint>
#include <string_view>

#include "engine/types/basic.h"
#include "store/store.h"

namespace perennial::store {

// The state of the disk that decides whether puts are accepted.
struct DiskSeen {
  bool accepts_puts = true;       // Whether the disk has space for more jobs.
  bool write_stalled = false;     // Whether puts wait for flushes and compactions: write_backlog.h.
  std::string_view state = "ok";  // For `stats`: ok, behind, or the disk space state.

  bool operator==(const DiskSeen&) const = default;
};

// Decides when the writing thread polls the disk: the free space (disk_space.h) and the write
// backlog (write_backlog.h). A poll is due once a second, and sooner after many bytes were written
// or while puts wait. This class has no thread; the thread that writes calls it.
class DiskWatch {
 public:
  // The store outlives this.
  explicit DiskWatch(Store& store);

  // Returns whether a poll is due. Reads the store's clock and changes nothing.
  bool is_due() const;
  // Returns whether a batch is so large that a poll follows before its result is published. The
  // core then sees the free space after the write at the same time as the batch.
  static bool is_much(uint64_t bytes) { return bytes >= poll_bytes; }
  // Returns the time after which a poll is due if nothing is written.
  Nanos interval() const;
  // Polls the disk. Returns whether seen() has changed.
  bool poll();
  const DiskSeen& seen() const { return seen_; }

 private:
  static constexpr uint64_t poll_bytes = 4 << 20;

  DiskSeen see() const;

  Store& store_;
  DiskSeen seen_;
  Nanos poll_due_ = 0;
  Nanos figures_due_ =
      0;  // Store::poll_figures() is for people, and never due more than once a second.
  uint64_t polled_bytes_ = 0;  // The bytes that had been written at the last poll.
};

}  // namespace perennial::store
