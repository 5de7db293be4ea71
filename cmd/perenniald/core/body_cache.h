#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <string_view>

#include "cmd/perenniald/core/memory_budget.h"
#include "cmd/perenniald/core/shared_bodies.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/id_map.h"

namespace perennial::core {

// Bodies in memory. Those of batches that are not written yet are pinned, because the committer
// reads them here. Beyond these the newest bodies that fit `bytes_max` stay. The bytes of a body
// never move. A body may be a shared body as well; SharedBodies counts its memory once it leaves
// the cache.
class BodyCache {
 public:
  // Both outlive this.
  BodyCache(size_t bytes_max, MemoryBudget& budget, SharedBodies& shared_bodies)
      : bytes_max_(bytes_max), charge_(budget), shared_bodies_(shared_bodies) {}

  // Takes the body of a new job, pinned until unpin(batch). Returns its bytes, which are valid
  // until then. REQUIRES: `id` is not in the cache; `batch` is not below that of any earlier call.
  std::string_view insert(JobId id, Body body, BatchIndex batch);
  // Removes a job's body, if it is here. The bytes of a pinned body stay until `open_batch` is
  // written.
  void erase(JobId id, BatchIndex open_batch);
  // Batches up to `written` have been written.
  void unpin(BatchIndex written);

  // Returns null if the body is not here. Valid until the next call of a non-const function.
  const Body* find(JobId id) const;
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    JobId id;
    BatchIndex batch;
    Body body;
  };
  void shrink();
  // Adds a body to the count, or removes one that is about to be freed.
  void count(const Body& body);
  void uncount(const Entry& entry);

  size_t bytes_max_;
  size_t bytes_ = 0;
  MemoryBudget::Charge charge_;
  SharedBodies& shared_bodies_;
  BatchIndex written_ = 0;
  std::list<Entry> entries_;  // Oldest first, so the pinned ones are at the end.
  IdMap<std::list<Entry>::iterator> by_id_;
  // Were pinned when they were erased. They stay until `batch` is written.
  std::deque<Entry> erased_;
};

}  // namespace perennial::core
