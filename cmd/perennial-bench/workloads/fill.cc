#include <algorithm>

#include "cmd/perennial-bench/workloads/tasks.h"

namespace perennial::bench {

uint64_t at_most(uint64_t jobs, const BenchOptions& options) {
  return std::min(jobs, options.jobs.value_or(jobs));
}

LoadSpec filling_spec(const BenchOptions& options, uint32_t body_bytes) {
  return {.producers = 8, .in_flight = 64, .body_bytes = body_bytes, .seed = options.seed};
}

LoadSpec draining_spec(const BenchOptions& options, uint32_t body_bytes) {
  return {.workers = options.quick ? 4U : 32U,
          .reserve_ahead = true,
          .body_bytes = body_bytes,
          .seed = options.seed};
}

Result<std::string> fill(Subject& subject, uint64_t jobs, uint32_t body_bytes) {
  Load load(filling_spec(subject.options, body_bytes), 0, subject.signals);
  if (Status s = load.open(subject.target); !s.ok()) return s;
  if (Status s = load.run_jobs(jobs); !s.ok()) return std::move(s).with("fill the server");
  return load.tube();
}

}  // namespace perennial::bench
