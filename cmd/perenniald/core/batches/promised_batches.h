#pragma once

#include <cstddef>
#include <vector>

#include "engine/types/basic.h"

namespace perennial::core {

// Which batch holds the newest promised transition of a job. Until that batch is on disk, a crash
// could undo what a reply says about the job.
//
// Jobs whose ids differ by a multiple of `places` share an entry, so a reply may wait for longer
// than it must, but never for less. Ids are dense, and there are seldom so many promised
// transitions between engine and disk, so this is rare. A hash map would be exact, but would have
// to be cleaned up after each commit.
class PromisedBatches {
 public:
  // REQUIRES: `batch` is not below that of any earlier call.
  void on_promise(JobId id, BatchIndex batch) { newest_[id % places] = batch; }
  // Returns 0 if none is known: the job has no promised transition since the start.
  BatchIndex newest(JobId id) const { return newest_[id % places]; }

  static constexpr size_t places = size_t{1} << 15;

 private:
  std::vector<BatchIndex> newest_ = std::vector<BatchIndex>(places);
};

}  // namespace perennial::core
