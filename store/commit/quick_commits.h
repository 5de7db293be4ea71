#pragma once

#include "engine/types/basic.h"

namespace perennial::store {

// Decides whether the loop may wait for a commit itself, which is a write and, in the mode that
// syncs each batch, its sync. It may after `in_a_row_min` commits in a row that took at most
// `quick`, and until one takes longer.
class QuickCommits {
 public:
  static constexpr Nanos quick = nanos_per_ms;
  static constexpr unsigned in_a_row_min = 16;

  void add(Nanos took) { in_a_row_ = took <= quick ? in_a_row_ + 1 : 0; }
  bool may_wait() const { return in_a_row_ >= in_a_row_min; }

 private:
  unsigned in_a_row_ = 0;
};

}  // namespace perennial::store
