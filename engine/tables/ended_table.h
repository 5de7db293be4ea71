#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "engine/types/ended_job.h"

namespace perennial::engine {

// Where the ended jobs of each tube are that keeps some. The jobs themselves are on disk only. A
// tube is named, because its ended jobs outlive it.
class EndedTable {
 public:
  using ByTube = absl::btree_map<std::string, EndedSpan, std::less<>>;

  // Empty, with the places from 1, if the tube keeps none.
  EndedSpan of(std::string_view tube) const {
    const auto found = by_tube_.find(tube);
    return found != by_tube_.end() ? found->second : EndedSpan();
  }
  // An empty span is that of a tube that keeps none.
  void set(std::string_view tube, const EndedSpan& span) {
    if (span.empty()) {
      by_tube_.erase(tube);
    } else {
      by_tube_[tube] = span;
    }
  }
  const ByTube& by_tube() const { return by_tube_; }
  // An estimate, in bytes.
  size_t memory_bytes() const { return by_tube_.size() * (sizeof(ByTube::value_type) + 32); }

 private:
  ByTube by_tube_;
};

}  // namespace perennial::engine
