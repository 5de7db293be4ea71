#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "engine/types/option_values.h"
#include "engine/types/stats.h"
#include "engine/view/engine_view.h"

namespace perennial::http {

// Which jobs are wanted, by their numbers: those from `NAME_min` to `NAME_max` of each. A list has
// them in its query, and an operation in its member `match`.
class JobFilter {
 public:
  struct Number {
    std::string_view name;
    JobNumber number;
    uint64_t (*of)(const JobStats&);
  };
  static constexpr std::array numbers = {
      // In whole seconds.
      Number{"age_seconds", JobNumber::Age,
             [](const JobStats& job) { return static_cast<uint64_t>(job.age / nanos_per_second); }},
      Number{"priority", JobNumber::Priority,
             [](const JobStats& job) { return uint64_t{job.priority}; }},
      Number{"reserves", JobNumber::Reserves,
             [](const JobStats& job) { return uint64_t{job.reserves}; }},
      Number{"timeouts", JobNumber::Timeouts,
             [](const JobStats& job) { return uint64_t{job.timeouts}; }},
  };

  JobFilter() = default;
  explicit JobFilter(Query& query);
  explicit JobFilter(Fields& fields);

  // Whether it leaves anything out.
  bool is_set() const { return match_.is_set(); }
  bool admits(const JobStats& job) const;
  const JobMatch& match() const { return match_; }

 private:
  JobMatch match_;
};

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

// The members that JobFilter reads, for those numbers that are looked at. Null: there are none.
Json json_of(const JobMatch& match);

}  // namespace perennial::http
