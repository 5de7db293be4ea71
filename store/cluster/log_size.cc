#include "store/cluster/log_size.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/types/check.h"

namespace perennial::store::cluster {

void LogSize::reset(BatchIndex base) {
  first_ = base + 1;
  sizes_.clear();
  bytes_ = 0;
}

void LogSize::add(BatchIndex index, size_t bytes) {
  CHECK(index == last() + 1);
  sizes_.push_back(static_cast<uint32_t>(bytes));
  bytes_ += bytes;
}

void LogSize::trimmed(BatchIndex first) {
  while (first_ < first && !sizes_.empty()) {
    bytes_ -= sizes_.front();
    sizes_.pop_front();
    ++first_;
  }
}

BatchIndex LogSize::held_by(std::span<const BatchIndex> flushed, size_t copies) {
  if (copies == 0 || flushed.size() < copies) return 0;
  std::vector<BatchIndex> sorted(flushed.begin(), flushed.end());
  std::ranges::sort(sorted, std::greater());
  return sorted[copies - 1];
}

BatchIndex LogSize::trim_before(std::span<const BatchIndex> flushed) const {
  const BatchIndex enough = held_by(flushed, limits_.copies_min);
  const BatchIndex everywhere =
      std::min(enough, held_by(flushed, std::max(flushed.size(), limits_.copies_min)));
  BatchIndex end = first_;
  uint64_t left = bytes_;
  // The newest entry always stays: it says where the log ends.
  for (size_t i = 0; i + 1 < sizes_.size(); ++i) {
    left -= sizes_[i];
    const BatchIndex held = left + sizes_[i] > limits_.bytes_max ? enough : everywhere;
    if (left < limits_.keep_bytes || end > held) break;
    ++end;
  }
  return end;
}

bool LogSize::must_hold_puts(std::span<const BatchIndex> flushed) const {
  return bytes_ > limits_.bytes_max && trim_before(flushed) == first_;
}

}  // namespace perennial::store::cluster
