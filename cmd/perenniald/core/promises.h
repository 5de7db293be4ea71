#pragma once

#include <cstddef>
#include <vector>

#include "engine/types/basic.h"

namespace perennial::core {

// Which batch holds the newest promise about a job: a crash before that is on disk could undo what
// a reply says of it.
//
// Jobs whose ids differ by a multiple of `places` share one. Their replies may be told to wait for
// longer than they must, never for less; and since ids are dense that is rare, as there are seldom
// so many promises on their way to the disk.
class Promises {
 public:
  // REQUIRES: `batch` is not below any given before.
  void on_promise(JobId id, BatchIndex batch) { newest_[id % places] = batch; }
  // 0: none is known, because it was long ago.
  BatchIndex newest(JobId id) const { return newest_[id % places]; }

  static constexpr size_t places = size_t{1} << 15;

 private:
  std::vector<BatchIndex> newest_ = std::vector<BatchIndex>(places);
};

}  // namespace perennial::core
