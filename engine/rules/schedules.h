#pragma once

#include <optional>
#include <variant>

#include "engine/tables/state.h"
#include "engine/types/reply.h"
#include "engine/types/schedule.h"
#include "engine/types/stats.h"

// What becomes of a schedule: its next planned time, and the job that it puts for one. When that is
// done is a matter of engine/operations/schedules.cc. Each REQUIRES: there is a calendar.
namespace perennial::engine {

// Planned times do not come again when the wall clock is set back; but if it was ahead by more than
// this, it was wrong.
inline constexpr Nanos schedule_ahead_max = Nanos{24} * 3600 * nanos_per_second;

// The first planned time after this one, or the state that the schedule has without one.
struct Planned {
  std::optional<Nanos> at = {};
  ScheduleState state = ScheduleState::Active;
};
Planned next_planned(State& state, const ScheduleWhen& when, Nanos after);
// Gives the progress this next time.
void plan(ScheduleProgress& progress, const Planned& next);
// The planned time of the last job, which does not come again; 0: none. One that is further ahead
// of the wall clock than schedule_ahead_max was of a clock that was wrong, and counts as none.
Nanos last_passed(const State& state, const ScheduleProgress& progress);
// The schedule goes on after a pause, or with a zone that was unknown: what has passed meanwhile is
// not missed, but for the one time of `at`, and no time comes again. A next time that is further
// ahead than schedule_ahead_max is looked for again, because a wrong clock may have led to it.
// `offset`: by how much its times are due later.
void plan_anew(State& state, ScheduleProgress& progress, const ScheduleWhen& when, Nanos offset);

// What came of it: the job; the job that is in its place, because there is one already; or why the
// put was refused, which changes nothing and is counted.
using Firing = std::variant<JobId, Duplicate, PutRefusal>;
// Puts the job of the schedule for a planned time, unless its overlap or its key forbids it.
// `after`: what the schedule is then, but for its last job and what it counts.
Firing fire(State& state, const ScheduleEntry& entry, Nanos planned, ScheduleProgress after,
            uint32_t made_up = 0);
// Changes the progress, and says so.
void change(State& state, const ScheduleEntry& entry, const ScheduleProgress& progress,
            uint32_t made_up = 0);

}  // namespace perennial::engine
