#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/types/basic.h"

// Counts of values by size, for the metrics. The buckets are known when the program is compiled, so
// that all servers have the same ones and their counts can be added up.
namespace perennial {

// The buckets of durations within the server: 50 us, doubled up to 26 s.
inline constexpr auto latency_bounds = [] {
  std::array<uint64_t, 20> bounds = {};
  uint64_t bound = 50'000;
  for (uint64_t& each : bounds) {
    each = bound;
    bound *= 2;
  }
  return bounds;
}();

// The buckets of what happens to jobs: 1 ms to a day.
inline constexpr std::array<uint64_t, 16> work_bounds = [] {
  constexpr uint64_t ms = nanos_per_ms;
  constexpr uint64_t s = nanos_per_second;
  constexpr uint64_t min = 60 * s;
  constexpr uint64_t h = 60 * min;
  return std::array<uint64_t, 16>{1 * ms,   5 * ms, 10 * ms, 50 * ms, 100 * ms, 500 * ms,
                                  1 * s,    5 * s,  10 * s,  30 * s,  1 * min,  5 * min,
                                  30 * min, 1 * h,  6 * h,   24 * h};
}();

// The buckets of the numbers of jobs in batches, which hold at most 20,000 operations but for the
// one that goes beyond.
inline constexpr std::array<uint64_t, 14> batch_jobs_bounds = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1'000, 2'000, 5'000, 10'000, 20'000};

// The buckets of the bytes of batches: 256 bytes to 1 GiB, the largest job.
inline constexpr auto batch_bytes_bounds = [] {
  std::array<uint64_t, 12> bounds = {};
  uint64_t bound = 256;
  for (uint64_t& each : bounds) {
    each = bound;
    bound *= 4;
  }
  return bounds;
}();

// What all histograms show.
struct HistogramView {
  std::span<const uint64_t> bounds;  // The highest value of each bucket, in ascending order.
  std::span<const uint64_t> counts;  // One for each bucket, and one for all higher values.
  double sum = 0;                    // Of all values.
};

// Never allocates. A copy is as large as its array of counts.
template <const auto& bounds>
class Histogram {
 public:
  // Adds a value, or `count` times the same one.
  void record(uint64_t value, uint64_t count = 1) {
    counts_[bucket_of(value)] += count;
    add(value * count);
  }
  // The same for a duration. One below 0 counts as 0.
  void record_time(Nanos time, uint64_t count = 1) {
    record(time > 0 ? static_cast<uint64_t>(time) : 0, count);
  }

  HistogramView view() const {
    constexpr double high = 18446744073709551616.0;  // 2^64
    return {.bounds = bounds,
            .counts = counts_,
            .sum = static_cast<double>(sum_high_) * high + static_cast<double>(sum_)};
  }
  uint64_t count() const {
    uint64_t all = 0;
    for (const uint64_t each : counts_) all += each;
    return all;
  }

  bool operator==(const Histogram&) const = default;

 private:
  static constexpr size_t size = bounds.size();
  static_assert([] {
    for (size_t i = 1; i < size; ++i) {
      if (bounds[i] <= bounds[i - 1]) return false;
    }
    return size > 0;
  }());

  // The first bucket whose bound is not below the value. The number of steps is always the same.
  static size_t bucket_of(uint64_t value) {
    size_t at = 0;
    for (size_t step = std::bit_floor(size); step > 0; step /= 2) {
      const size_t next = at + step;
      if (next <= size && bounds[next - 1] < value) at = next;
    }
    return at;
  }
  // 64 bits of nanoseconds are 584 years, which ten million jobs have waited together within an
  // hour.
  void add(uint64_t value) {
    sum_ += value;
    sum_high_ += sum_ < value ? 1 : 0;
  }

  std::array<uint64_t, size + 1> counts_ = {};
  uint64_t sum_ = 0;
  uint64_t sum_high_ = 0;
};

using LatencyHistogram = Histogram<latency_bounds>;
using WorkHistogram = Histogram<work_bounds>;
using BatchJobsHistogram = Histogram<batch_jobs_bounds>;
using BatchBytesHistogram = Histogram<batch_bytes_bounds>;

}  // namespace perennial
