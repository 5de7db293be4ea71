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

// A histogram of durations in buckets whose width grows with the duration: 64 for each doubling, so
// that results are at most 1.6 % too high. The size is fixed, and adding costs a few instructions.
// HdrHistogram does the same, but Debian 12 packages it only for Java and Go, not for C.
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

  // Returns the nearest-rank percentile: the shortest duration that at least this share (0 to 1) of
  // all durations do not exceed. Of 1,000 durations at(0.999) is the 999th and not the longest.
  // at(0) is the shortest. If there are too few to leave one out, the result is the longest. 0 if
  // there are none.
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
  static constexpr unsigned bits = 6;  // 64 buckets for each doubling.
  static constexpr size_t per_doubling = size_t{1} << bits;

  // Ranks start at 1. Rounding makes the product slightly inexact (0.07 * 100 is more than 7),
  // which must not lead to the next rank.
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
  // The highest value of a bucket.
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
