#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cmd/perennial-bench/results/latencies.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "cmd/perennial-bench/results/operation.h"
#include "engine/types/basic.h"

namespace perennial::bench {

// Records the operations of one load since begin(): how many ended, when, and how long each took.
// Allocates only in the constructor.
class Recorder {
 public:
  struct Entry {
    Latencies latencies = {};
    uint64_t count = 0;
    std::vector<uint64_t> timeline = {};  // Counts per timeline_interval, from begin() on.
  };

  // `duration` is the measured time. Later operations count in the last interval.
  explicit Recorder(Nanos duration)
      : intervals_(static_cast<size_t>(std::max(Nanos{0}, duration) / timeline_interval) + 1) {
    for (Entry& entry : entries_) entry.timeline.resize(intervals_);
  }

  // Discards everything and starts to measure.
  void begin(Nanos now) {
    begun_ = now;
    for (Entry& entry : entries_) {
      entry.latencies = {};
      entry.count = 0;
      std::ranges::fill(entry.timeline, 0);
    }
  }

  void time(Operation operation, Nanos duration) { at(operation).latencies.add(duration); }
  void count(Operation operation, Nanos now, uint64_t times = 1) {
    Entry& entry = at(operation);
    entry.count += times;
    const auto interval = static_cast<size_t>((now - begun_) / timeline_interval);
    entry.timeline[std::min(interval, intervals_ - 1)] += times;
  }

  const Entry& of(Operation operation) const { return entries_[static_cast<size_t>(operation)]; }

 private:
  Entry& at(Operation operation) { return entries_[static_cast<size_t>(operation)]; }

  const size_t intervals_;
  Nanos begun_ = 0;
  std::array<Entry, operations_count> entries_;
};

}  // namespace perennial::bench
