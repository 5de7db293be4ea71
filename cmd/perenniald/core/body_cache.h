#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <string_view>

#include "cmd/perenniald/core/body_loans.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/id_map.h"

namespace perennial::core {

// Bodies in memory: all those of batches that are not written yet, pinned, because the committer
// reads them here; and beyond that the newest ones that fit `bytes_max`. Never moves the bytes of a
// body. What answers share of them is in BodyLoans, too, which counts it from when it goes here.
class BodyCache {
 public:
  // Both outlive it.
  BodyCache(size_t bytes_max, MemoryBudget& budget, BodyLoans& loans)
      : bytes_max_(bytes_max), charge_(budget), loans_(loans) {}

  // Takes a new job's body, pinned until unpin(batch). Returns where its bytes are until then.
  // REQUIRES: `id` is not in the cache; `batch` is not below any given before.
  std::string_view insert(JobId id, Body body, BatchIndex batch);
  // Forgets a job's body, if it is here; its bytes stay until the batch that is open now is
  // written.
  void erase(JobId id, BatchIndex open_batch);
  // Batches up to this one have been written.
  void unpin(BatchIndex written);

  // Null: it is not here. Valid until the next call of anything that is not const.
  const Body* find(JobId id) const;
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    JobId id;
    BatchIndex batch;
    Body body;
  };
  void shrink();
  // Counts one more, or one less, which is about to go.
  void count(const Body& body);
  void uncount(const Entry& entry);

  size_t bytes_max_;
  size_t bytes_ = 0;
  MemoryBudget::Charge charge_;
  BodyLoans& loans_;
  BatchIndex written_ = 0;
  std::list<Entry> entries_;  // Oldest first, so that the pinned ones are at the end.
  IdMap<std::list<Entry>::iterator> by_id_;
  std::deque<Entry> erased_;  // Pinned when they were erased; `batch` is the one to wait for.
};

}  // namespace perennial::core
