#pragma once

#include <cstdint>

#include "engine/types/stats.h"

namespace perennial::engine {

// What has happened since the start. Nothing depends on it but statistics.
struct Counters {
  CommandCounts commands;
  JobEnds job_ends;
  PutRefusals puts_refused = {};
  WorkTimes work_times;
  uint64_t job_timeouts = 0;
  uint64_t jobs_damaged = 0;
  uint64_t jobs_duplicate = 0;
  uint64_t jobs_dead = 0;
  uint64_t jobs_expired = 0;
  // Jobs that ended in a tube that keeps such jobs, while the input kept none.
  uint64_t ended_not_kept = 0;
  ScheduleCounts schedules;  // What has happened; not how many there are.
};

}  // namespace perennial::engine
