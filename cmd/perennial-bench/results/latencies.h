#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/types/basic.h"

namespace perennial::bench {

// A count of durations in buckets whose width grows with them: 64 to each doubling, so that what it
// answers is at most 1.6 % too high. Fixed size; adding costs a few instructions.
// HdrHistogram does the same, but Debian 12 has its libraries for Java and Go only, not for C.
class Latencies {
 public:
  void add(Nanos duration) {
    const auto value = static_cast<uint64_t>(duration < 0 ? 0 : duration);
    ++counts_[bucket_of(value)];
    ++total_;
    if (value > max_) max_ = value;
  }

  void add_all(const Latencies& other) {
    for (size_t bucket = 0; bucket < counts_.size(); ++bucket)
      counts_[bucket] += other.counts_[bucket];
    total_ += other.total_;
    if (other.max_ > max_) max_ = other.max_;
  }

  // The shortest duration that at least this share of all (0 to 1) do not exceed, the nearest-rank
  // percentile: of 1,000, at(0.999) is the 999th and not the longest. at(0) is the shortest. Of too
  // few for a share to leave one out, it is the longest. 0 when there is none.
  Nanos at(double share) const {
    const uint64_t wanted = rank_of(share);
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += counts_[bucket];
      if (seen >= wanted && total_ > 0) return static_cast<Nanos>(std::min(top_of(bucket), max_));
    }
    return 0;
  }

  Nanos max() const { return static_cast<Nanos>(max_); }
  uint64_t total() const { return total_; }

 private:
  static constexpr unsigned bits = 6;  // 64 buckets to each doubling.
  static constexpr size_t per_doubling = size_t{1} << bits;

  // From 1. The product is a little off (0.07 * 100 is more than 7), and must not reach the next
  // rank by that.
  uint64_t rank_of(double share) const {
    constexpr double a_little_less = 1 - 4 * std::numeric_limits<double>::epsilon();
    const double rank = std::ceil(share * static_cast<double>(total_) * a_little_less);
    return std::clamp(static_cast<uint64_t>(rank), uint64_t{1}, std::max(total_, uint64_t{1}));
  }

  static size_t bucket_of(uint64_t value) {
    if (value < per_doubling) return static_cast<size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - bits - 1;
    return shift * per_doubling + static_cast<size_t>(value >> shift);
  }
  // The highest value that falls into a bucket.
  static uint64_t top_of(size_t bucket) {
    if (bucket < 2 * per_doubling) return bucket;
    const size_t shift = bucket / per_doubling - 1;
    const uint64_t low = (bucket % per_doubling + per_doubling) << shift;
    return low + (uint64_t{1} << shift) - 1;
  }

  std::array<uint64_t, (64 - bits + 1) * per_doubling> counts_{};
  uint64_t total_ = 0;
  uint64_t max_ = 0;
};

}  // namespace perennial::bench
