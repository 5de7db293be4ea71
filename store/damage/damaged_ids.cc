#include "store/damage/damaged_ids.h"

#include <algorithm>

namespace perennial::store {

DamagedIds::DamagedIds(const std::vector<DamagedBlock>& blocks,
                       std::initializer_list<Family> families) {
  std::vector<Range> all;
  for (const DamagedBlock& block : blocks) {
    const bool is_wanted = std::ranges::find(families, block.family) != families.end();
    if (is_wanted) all.push_back({.first = block.first, .last = block.last});
  }
  std::ranges::sort(all, {}, &Range::first);
  for (const Range& range : all) {
    if (ranges_.empty() || ranges_.back().last < range.first) {
      ranges_.push_back(range);
    } else {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    }
  }
}

bool DamagedIds::take(JobId id) {
  while (next_ < ranges_.size() && ranges_[next_].last < id) ++next_;
  const bool is_in_range = next_ < ranges_.size() && ranges_[next_].first <= id;
  if (is_in_range) jobs_.push_back(id);
  return is_in_range;
}

bool DamagedIds::contains(JobId id) const {
  return std::ranges::any_of(
      ranges_, [id](const Range& range) { return range.first <= id && id <= range.last; });
}

uint64_t DamagedIds::difference_max() const {
  uint64_t sum = 0;
  for (const Range& range : ranges_) sum += range.last - range.first + 1;
  return sum;
}

// Tables of `ended_order` are not compressed. The smallest entry is a deletion whose key differs
// from the one before in one byte: three lengths, that byte, and the number and kind of the row.
DamagedEnded::DamagedEnded(const std::vector<DamagedBlock>& blocks) : ids(blocks, Family::Ended) {
  constexpr uint64_t entry_bytes_min = 3 + 1 + sizeof(uint64_t);
  for (const DamagedBlock& block : blocks) {
    if (block.family == Family::EndedOrder) order_rows_max += block.bytes / entry_bytes_min;
  }
}

}  // namespace perennial::store
