#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/types/basic.h"
#include "engine/types/later.h"

namespace perennial::core {

// How long a batch waits for awaited clients, where a sync is slow.
//
// Without a delay clients fall into two groups: while the commands of one group are synced, those
// of the other arrive. The next sync begins without the first group, so each command waits for two
// syncs. Therefore, when a batch has been answered, the next batch waits for the answered clients
// to send their next commands. It waits until all of them have, and at most for half the time of a
// sync.
//
// PostgreSQL's commit_delay does the same with a fixed time, which an administrator has to set;
// here the time follows the disk. Some clients do something else first, or are so many that they
// keep the loop busy during a whole sync. A delay for such clients gains nothing, so it is not
// tried again and again: when fewer than seven eighths have come, some batches go without a delay,
// twice as many each time.
class CommitDelay {
 public:
  // A batch was answered. `took`: nanoseconds until it was written and synced; 0 if no reply waited
  // for the disk. `clients`: how many of the answered clients have nothing in the open batch.
  // Begins a round.
  void expect(size_t clients, Nanos took, Nanos now) {
    ++round_;
    const Nanos lately =
        // The lower of two, because one may be an outlier.
        std::min(took, std::exchange(took_before_, took));
    expected_ = awaited_ = clients;
    until_ = 0;
    if (lately < slow_sync || clients == 0) return;
    if (skip_ > 0) {
      --skip_;
      return;
    }
    until_ = later(now, lately / 2);
  }

  // An awaited client has sent a command whose reply waits for the open batch.
  void on_one() {
    if (awaited_ > 0) --awaited_;
  }

  // The open batch was taken, with or without the awaited clients.
  void on_taken() {
    if (until_ == 0) return;
    until_ = 0;
    const bool worth_it = awaited_ <= expected_ / 8;
    skip_next_ = worth_it ? 1 : std::min(2 * skip_next_, skip_max);
    if (!worth_it) skip_ = skip_next_;
  }

  // When the open batch should go, even if awaited clients have not come. A time in the past: now.
  Nanos until() const { return awaited_ == 0 ? 0 : until_; }
  // How many clients are awaited: they were answered last, and have nothing in the open batch yet.
  size_t awaited() const { return awaited_; }
  // The number of the present round. It tells clients that were answered last from those answered
  // earlier.
  uint64_t round() const { return round_; }

 private:
  // A quicker sync is not worth a delay: store::LocalLog writes such batches on the loop's own
  // thread.
  static constexpr Nanos slow_sync = nanos_per_ms;
  static constexpr unsigned skip_max = 64;

  uint64_t round_ = 0;
  size_t expected_ = 0;
  size_t awaited_ = 0;
  Nanos until_ = 0;
  Nanos took_before_ = 0;
  unsigned skip_ = 0;       // How many more batches go without a delay.
  unsigned skip_next_ = 1;  // Half of the number after the next delay that gains nothing.
};

}  // namespace perennial::core
