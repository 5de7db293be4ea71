#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/core/command_times.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "engine/types/basic.h"
#include "engine/types/reply.h"

namespace perennial::core {

// A read of a body that replies wait for and that is not in memory.
struct BodyRead {
  JobId job;
  size_t body_bytes;  // As the job's row says.
};

// A reply that waits for a body, and its slot in the outbox of its connection.
struct BodyWaiter {
  ConnId conn;
  uint64_t slot;
  JobReply reply;
  // The command that this reply alone answers.
  std::optional<CommandTimes::Start> command = {};
};

// Which replies wait for which bodies that have to be read. All replies that need one body share
// one read.
//
// The read of a small body begins when few enough others are under way. The read of a large body
// begins with begin(), which is called when the memory budget admits it. The budget counts a body
// from the time its read begins.
class BodyWaits {
 public:
  // A body of more than `large_bytes_min` is large. A small body's read begins only while fewer
  // than `reads_max` reads are under way. `budget` outlives this.
  BodyWaits(MemoryBudget& budget, size_t large_bytes_min, size_t reads_max)
      : budget_(budget), large_bytes_min_(large_bytes_min), reads_max_(reads_max) {}

  bool is_large(size_t body_bytes) const { return body_bytes > large_bytes_min_; }
  // Returns true if this is the first reply that waits for a large body, so that begin() must be
  // called in time.
  bool add(const BodyWaiter& waiter);
  // Whether replies wait for this body and its read has not begun.
  bool is_waiting(JobId job) const;
  // Begins a read, no matter how many others are under way. REQUIRES: is_waiting(job).
  void begin(JobId job);
  // Returns the reads that have begun since the last call.
  std::vector<BodyRead> take_reads();
  bool has_begun_any() const { return !begun_.empty(); }
  // A read has ended, or is not needed any more. Returns the replies that waited for it, oldest
  // first.
  std::vector<BodyWaiter> end(JobId job);
  // The replies that wait for a body. REQUIRES: there is one, and end() was not called.
  const std::vector<BodyWaiter>& waiters(JobId job) const;
  // The connection is closed. Returns true if no reply waits for this body any more and its read
  // has not begun; the body is then forgotten.
  bool drop(JobId job, ConnId conn);

  // The number of bodies that replies wait for.
  size_t count() const { return bodies_.size(); }
  // What all reads have charged, summed up anew. For Core::check().
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
  std::deque<JobId> small_;  // In order. Some may have begun since, or ended.
  std::vector<BodyRead> begun_;
};

}  // namespace perennial::core
