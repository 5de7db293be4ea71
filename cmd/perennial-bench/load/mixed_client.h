#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include "cmd/perennial-bench/results/operation.h"
#include "engine/types/basic.h"

namespace perennial::bench {

// What one connection of a mixed load does next, by weights and a seed, and the jobs that it has
// reserved.
class MixedClient {
 public:
  explicit MixedClient(uint64_t seed) : random_(seed) {}

  // `may_put`: there is room for another job in the queue. What cannot be done is replaced: a put
  // by a delete, one that needs a reserved job by a reserve, a reserve past jobs_max by a delete.
  Operation choose(bool may_put);

  void hold(JobId job) { held_[held_count_++] = job; }
  // The job that delete, release or bury is for. REQUIRES: choose() gave one of them.
  JobId give_up();

 private:
  static constexpr size_t held_max = 8;

  std::mt19937_64 random_;
  std::array<JobId, held_max> held_{};
  size_t held_count_ = 0;
};

}  // namespace perennial::bench
