#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "engine/types/basic.h"
#include "engine/types/reply.h"

namespace perennial::core {

// A body that replies wait for and that is not in memory.
struct BodyRead {
  JobId job;
  size_t body_bytes;  // As they should be.
};

// A reply that waits for a body, and its slot in the outbox of a connection.
struct BodyWaiter {
  ConnId conn;
  uint64_t slot;
  JobReply reply;
};

// Which replies wait for which bodies that have to be read. There is one read of a body at a time,
// for all who wait for it.
//
// A read first waits: of a small body until few others are under way, of a large one until it is
// told to begin. What is read is counted in the budget from then on.
class BodyWaits {
 public:
  // A body of more than `large_bytes_min` is large. So many reads may be under way when one of a
  // small body begins. `budget` outlives this.
  BodyWaits(MemoryBudget& budget, size_t large_bytes_min, size_t reads_max)
      : budget_(budget), large_bytes_min_(large_bytes_min), reads_max_(reads_max) {}

  bool is_large(size_t body_bytes) const { return body_bytes > large_bytes_min_; }
  // True: this is the first who waits for a large body, whose read must be told to begin.
  bool add(const BodyWaiter& waiter);
  // Whether its read has not begun.
  bool is_waiting(JobId job) const;
  // Begins a read, whatever else is under way. REQUIRES: is_waiting(job).
  void begin(JobId job);
  // The reads that have begun since the last call.
  std::vector<BodyRead> take_reads();
  bool has_begun_any() const { return !begun_.empty(); }
  // A read has ended, or need not begin: those who waited for it, in the order in which they came.
  std::vector<BodyWaiter> end(JobId job);
  // Those who wait for a read. REQUIRES: there is one that has not ended.
  const std::vector<BodyWaiter>& waiters(JobId job) const;
  // The connection is gone. True: nobody waits for this body any more, whose read has not begun; it
  // is forgotten.
  bool drop(JobId job, ConnId conn);

  // Bodies that are waited for.
  size_t count() const { return bodies_.size(); }
  // What reads have taken, counted anew. For Core::check().
  MemoryUse use() const;

 private:
  struct Wanted {
    size_t body_bytes;
    bool has_begun = false;
    std::vector<BodyWaiter> waiters = {};
    MemoryBudget::Charge charge = {};
  };

  MemoryBudget& budget_;
  const size_t large_bytes_min_;
  const size_t reads_max_;
  absl::flat_hash_map<JobId, Wanted> bodies_;
  size_t under_way_ = 0;
  std::deque<JobId> small_;  // In order; some may have begun since, or ended.
  std::vector<BodyRead> begun_;
};

}  // namespace perennial::core
