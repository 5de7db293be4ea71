#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/types/basic.h"

namespace perennial::common {

// Limits the lines of the log that clients can cause. Those that are left out are counted, and
// said with the next one that is not.
class LineLimit {
 public:
  explicit LineLimit(uint64_t per_second_max) : per_second_max_(per_second_max) {}

  // Returns nothing if no line may be written now, else how many were left out since the last one.
  std::optional<uint64_t> take(Nanos now) {
    if (now - second_ >= nanos_per_second) {
      second_ = now;
      lines_ = 0;
    }
    if (lines_ < per_second_max_) {
      ++lines_;
      return std::exchange(left_out_, 0);
    }
    ++left_out_;
    return std::nullopt;
  }

 private:
  const uint64_t per_second_max_;
  Nanos second_ = 0;
  uint64_t lines_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace perennial::common
