#pragma once

#include <cstdint>
#include <utility>

#include "engine/view/engine_view.h"

namespace perennial::http {

// Counts the jobs of a tube that are wanted, in steps of less than a millisecond.
class JobCounter {
 public:
  // `engine` outlives this.
  JobCounter(engine::EngineView engine, engine::EngineView::CountJobs asked)
      : engine_(engine), asked_(std::move(asked)) {}

  static constexpr uint32_t jobs_per_step = 5'000;

  // Returns whether all jobs were looked at.
  bool step() { return engine_.count_jobs(asked_, jobs_per_step, counted_); }
  uint64_t count() const { return counted_.count; }

 private:
  const engine::EngineView engine_;
  const engine::EngineView::CountJobs asked_;
  engine::EngineView::JobCount counted_;
};

}  // namespace perennial::http
