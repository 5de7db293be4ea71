#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include "cmd/perennial-bench/results/operation.h"
#include "engine/types/basic.h"

namespace perennial::bench {

// Chooses the next operation of a connection in a mixed load, by weights and a seed, and remembers
// the jobs that it has reserved.
class MixedClient {
 public:
  explicit MixedClient(uint64_t seed) : random_(seed) {}

  // `may_put` says whether the queue may take another job. An operation that is not possible is
  // replaced: a put by a delete, an operation on a reserved job by a reserve, and a reserve beyond
  // jobs_max by a delete.
  Operation choose(bool may_put);

  void hold(JobId job) { held_[held_count_++] = job; }
  // Returns the job for delete, release or bury. REQUIRES: choose() returned one of them.
  JobId give_up();

 private:
  static constexpr size_t held_max = 8;

  std::mt19937_64 random_;
  std::array<JobId, held_max> held_{};
  size_t held_count_ = 0;
};

}  // namespace perennial::bench
