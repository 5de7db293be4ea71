#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/types/basic.h"

namespace perennial::core {

// How long a batch waits for company, where a sync takes long.
//
// Without it clients fall into two groups: while the commands of one are synced those of the other
// gather, the next sync begins without the first, and so each command waits for two. So when a
// batch has been answered, the next waits for those who were answered to come back: no longer than
// until all have, and no longer than half a sync. (PostgreSQL's commit_delay is the same, set by
// hand.) Clients that have something else to do, or that are so many that they keep the loop busy
// while one group is synced, are not waited for in vain again and again: when not nearly all have
// come, some batches go at once, twice as many each time.
class Company {
 public:
  // A batch was answered that took so long to write and sync; 0: nobody waited for the disk. So
  // many of those who were answered have nothing in the open batch. Begins a round.
  void expect(size_t clients, Nanos took, Nanos now) {
    ++round_;
    const Nanos lately =
        std::min(took, std::exchange(took_before_, took));  // One may be an outlier.
    expected_ = missing_ = clients;
    until_ = 0;
    if (lately < slow_sync || clients == 0) return;
    if (skip_ > 0) {
      --skip_;
      return;
    }
    until_ = now + lately / 2;
  }

  // One of them has something in it now.
  void on_one() {
    if (missing_ > 0) --missing_;
  }

  // The open batch was taken, with or without them.
  void on_taken() {
    if (until_ == 0) return;
    until_ = 0;
    const bool worth_it = missing_ <= expected_ / 8;
    skip_next_ = worth_it ? 1 : std::min(2 * skip_next_, skip_max);
    if (!worth_it) skip_ = skip_next_;
  }

  // When the open batch should go at the latest, even if others are due to come. In the past: now.
  Nanos until() const { return missing_ == 0 ? 0 : until_; }
  // How many of those who were answered last have nothing in the open batch yet.
  size_t missing() const { return missing_; }
  // Tells those who were answered last from those who were before.
  uint64_t round() const { return round_; }

 private:
  // Quicker ones are not worth a wait: store::LocalLog has the loop itself wait for those.
  static constexpr Nanos slow_sync = nanos_per_ms;
  static constexpr unsigned skip_max = 64;

  uint64_t round_ = 0;
  size_t expected_ = 0;
  size_t missing_ = 0;
  Nanos until_ = 0;
  Nanos took_before_ = 0;
  unsigned skip_ = 0;       // So many more batches go at once.
  unsigned skip_next_ = 1;  // Half as many as after the next wait in vain.
};

}  // namespace perennial::core
