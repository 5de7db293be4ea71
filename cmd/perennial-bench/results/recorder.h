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

// What one load has done since begin(): of each operation how often it ended, when, and how long it
// took. Allocates only when it is made.
class Recorder {
 public:
  struct Entry {
    Latencies latencies = {};
    uint64_t count = 0;
    std::vector<uint64_t> timeline = {};  // By timeline_interval, from begin() on.
  };

  // `duration`: how long will be measured. What comes later is in the last interval.
  explicit Recorder(Nanos duration)
      : intervals_(static_cast<size_t>(std::max(Nanos{0}, duration) / timeline_interval) + 1) {
    for (Entry& entry : entries_) entry.timeline.resize(intervals_);
  }

  // Forgets everything, and measures from now on.
  void begin(Nanos now) {
    begun_ = now;
    for (Entry& entry : entries_) {
      entry.latencies = {};
      entry.count = 0;
      std::ranges::fill(entry.timeline, 0);
    }
  }

  void time(Operation operation, Nanos duration) { at(operation).latencies.add(duration); }
  void count(Operation operation, Nanos now) {
    Entry& entry = at(operation);
    ++entry.count;
    const auto interval = static_cast<size_t>((now - begun_) / timeline_interval);
    ++entry.timeline[std::min(interval, intervals_ - 1)];
  }

  const Entry& of(Operation operation) const { return entries_[static_cast<size_t>(operation)]; }

 private:
  Entry& at(Operation operation) { return entries_[static_cast<size_t>(operation)]; }

  const size_t intervals_;
  Nanos begun_ = 0;
  std::array<Entry, operations_count> entries_;
};

}  // namespace perennial::bench
