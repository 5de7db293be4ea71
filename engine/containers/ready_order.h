#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "engine/containers/job_pool.h"

namespace perennial::engine {

// All ready jobs of one tube by the time since which they are ready, those that may not be reserved
// among them. It knows which job has been ready longest, and serves nothing else: jobs are reserved
// by priority.
//
// Nearly every job becomes ready at the time of the input, which is not before that of any job that
// is ready already. So the order is a list that is linked through the jobs, and a job is added and
// removed in constant time without a byte more. A job that changes while it is ready keeps its time
// (set-job, move-tube). If jobs that became ready later are there, it is apart: in a set, for about
// 20 bytes and in logarithmic time.
//
// Owns no job. `pool` is always the one that all jobs are in.
class ReadyOrder {
 public:
  // Returns whether the job is apart now. REQUIRES: the job is ready, `order` says since when, and
  // it is in no ReadyOrder.
  bool add(const JobPool& pool, Job& job);
  // Returns whether the job was apart. REQUIRES: the job was added here, with the same `order`.
  bool remove(const JobPool& pool, const Job& job);
  // Since when the job is ready that has been ready longest. None: there is no job.
  std::optional<Nanos> first(const JobPool& pool) const;

  // For a start, where jobs come in the order of their ids. Adds a job whatever its time is.
  // REQUIRES: sort() is called before any other function but append().
  void append(const JobPool& pool, Job& job);
  // Takes no time if the jobs came in their order, and otherwise n log n, with 16 bytes for each
  // job meanwhile.
  void sort(const JobPool& pool);

  // Returns how many jobs there are, and checks their order. For Engine::check().
  size_t check(const JobPool& pool) const;
  size_t apart() const { return apart_.size(); }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint32_t is_apart = UINT32_MAX - 1;
  static_assert(JobPool::numbers_max < is_apart);

  void link_last(const JobPool& pool, Job& job);

  // Numbers of the pool.
  uint32_t first_ = none;
  uint32_t last_ = none;
  bool is_sorted_ = true;
  absl::btree_set<std::pair<uint64_t, JobId>> apart_;  // By the time, then the id.
};

}  // namespace perennial::engine
