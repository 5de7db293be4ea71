#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

namespace perennial::store {

// Maps ids of jobs to numbers that are not zero. It is not thread-safe.
//
// Ids that are inserted together are close to each other: jobs are put in the order of their ids,
// and mostly deleted nearly in that order. So neighbours share a cache line, and the line that was
// used last is found without a search. A hash map of the ids would be simpler, but each insertion
// would miss the cache three times, which takes longer than all else that a memtable does for it.
class IdIndex {
 public:
  // With the first id, memory is reserved for `lines` groups of neighbours, so that growing copies
  // nothing until then.
  explicit IdIndex(size_t lines) : lines_usual_(lines) {}

  // Sets the number of an id, and returns the one before; 0: there was none.
  uint32_t exchange(uint64_t id, uint32_t number) {
    const uint64_t line = id / line_ids;
    if (lines_.empty() || line != last_line_) {
      last_place_ = place_of(line);
      last_line_ = line;
    }
    return std::exchange(lines_[last_place_][id % line_ids], number);
  }

  // 0: the id has no number.
  uint32_t find(uint64_t id) const {
    const auto found = places_.find(id / line_ids);
    return found == places_.end() ? 0 : lines_[found->second][id % line_ids];
  }

  size_t line_count() const { return lines_.size(); }
  // What a line needs in memory, with its share of the map, which is half full.
  static constexpr size_t line_bytes = 64 + 2 * sizeof(std::pair<uint64_t, uint32_t>);

 private:
  static constexpr uint64_t line_ids = 16;
  struct alignas(64) Line : std::array<uint32_t, line_ids> {};
  static_assert(sizeof(Line) == 64);

  size_t place_of(uint64_t line) {
    if (lines_.empty()) {
      lines_.reserve(lines_usual_);
      places_.reserve(lines_usual_ / 2);
    }
    const auto [found, is_new] = places_.try_emplace(line, static_cast<uint32_t>(lines_.size()));
    if (is_new) lines_.emplace_back();
    return found->second;
  }

  const size_t lines_usual_;
  absl::flat_hash_map<uint64_t, uint32_t> places_;  // By the number of the line, in lines_.
  std::vector<Line> lines_;
  uint64_t last_line_ = 0;  // Valid when there is any line.
  size_t last_place_ = 0;
};

}  // namespace perennial::store
