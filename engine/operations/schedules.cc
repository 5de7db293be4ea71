// Schedules whose next planned time has come by the wall clock, and those whose put was refused.

#include "engine/rules/schedules.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "engine/operations/operations.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// The planned times of a schedule that have come: the first one, the last one, and the next one
// behind it, which has not come.
struct Due {
  Nanos last;
  Planned next;
};

// What has come of one planned time.
struct Passing {
  Nanos planned;          // The time that stands for all that pass.
  Planned next;           // The first one that does not pass.
  uint64_t unserved = 0;  // How many pass that get no job of their own, without this one.
  bool is_last = true;    // No further time has come.
};

bool has_come(const State& state, const ScheduleEntry& entry, const Planned& planned) {
  return planned.at && later(*planned.at, entry.offset) <= state.turn.wall();
}

// Finds the last planned time that has come. `second`: the one behind the first, which has come. If
// the first time after some moment has come, so has that after any earlier one. So each step halves
// what is left, and finds a later planned time at both of its ends.
Due last_due(State& state, const ScheduleEntry& entry, Nanos second) {
  const ScheduleWhen& when = entry.schedule().when;
  Nanos last = second;
  Nanos end = state.turn.wall() - entry.offset;  // No later one has come.
  for (;;) {
    const Planned next = next_planned(state, when, last);
    if (!has_come(state, entry, next)) return {last, next};
    last = *next.at;
    const Nanos middle = last + std::max<Nanos>(end - last, 0) / 2;
    const Planned behind = next_planned(state, when, middle);
    if (has_come(state, entry, behind)) {
      last = *behind.at;
    } else {
      end = middle;
    }
  }
}

// How many of the planned times from the first to the last one get no job, if it is the last that
// gets one.
uint64_t unserved_before(const ScheduleWhen& when, Nanos first, Nanos last) {
  const auto* const every = std::get_if<ScheduleEvery>(&when);
  if (every == nullptr) return 1;
  return static_cast<uint64_t>((last - first) / every->period);
}

// Which planned times pass now. The first time has come, and `next` is the one behind it.
Passing passing(State& state, const ScheduleEntry& entry, const Planned& next) {
  const Schedule& schedule = entry.schedule();
  const Nanos first = *entry.progress().planned;
  if (!has_come(state, entry, next)) return {.planned = first, .next = next};
  if (schedule.missed_max > 1 && entry.made_up + 1 < schedule.missed_max) {
    return {.planned = first, .next = next, .is_last = false};
  }
  const Due due = last_due(state, entry, *next.at);
  return {.planned = due.last,
          .next = due.next,
          .unserved = unserved_before(schedule.when, first, due.last)};
}

// Whether no job is put, because none is put for times that were missed. One that was refused was
// not missed.
bool is_too_late(const State& state, const ScheduleEntry& entry, Nanos planned) {
  const bool was_refused = entry.refused && entry.refused->planned == planned;
  if (entry.schedule().missed_max > 0 || was_refused) return false;
  return state.turn.wall() - later(planned, entry.offset) > schedule_grace;
}

// REQUIRES: the schedule is due.
void pass(State& state, const ScheduleEntry& entry) {
  ScheduleProgress after = entry.progress();
  // Without the zone there is none, but this time is known.
  const Planned next = next_planned(state, entry.schedule().when, *after.planned);
  const Passing times = passing(state, entry, next);
  const uint32_t made_up = times.is_last ? 0 : entry.made_up + 1;
  plan(after, times.next);
  uint64_t missed = times.unserved;
  const bool is_missed = is_too_late(state, entry, times.planned);
  // The times of a cron expression that pass together count as one.
  const bool counts_itself =
      times.unserved == 0 || std::holds_alternative<ScheduleEvery>(entry.schedule().when);
  if (is_missed && counts_itself) ++missed;
  after.missed += missed;
  if (is_missed) {
    change(state, entry, after, made_up);
  } else {
    const Firing firing = fire(state, entry, times.planned, after, made_up);
    if (const auto* const why = std::get_if<PutRefusal>(&firing)) {
      const Nanos retry_at = later(state.turn.now(), schedule_retry);
      return state.schedules.refuse(entry, {.planned = times.planned, .why = *why}, retry_at);
    }
  }
  state.counters.schedules.missed += missed;
}

// The one whose turn it is: first those that were refused. Null: none.
const ScheduleEntry* next_due(const State& state) {
  const ScheduleEntry* const retry = state.schedules.first_retry();
  if (retry != nullptr && retry->retry_at <= state.turn.now()) return retry;
  const ScheduleEntry* const due = state.schedules.first_due();
  return due != nullptr && *due->due() <= state.turn.wall() ? due : nullptr;
}

}  // namespace

// A planned time that has come is left as it is: it was right when it was found.
void compare_with_calendar(State& state) {
  const Nanos wall = state.turn.wall();
  while (!state.uncompared.empty() && !state.turn.is_over()) {
    const ScheduleEntry* const entry = state.schedules.find(state.uncompared.back());
    state.uncompared.pop_back();
    if (entry == nullptr) continue;
    const ScheduleWhen& when = entry->schedule().when;
    ScheduleProgress after = entry->progress();
    if (after.state == ScheduleState::NoZone) {
      plan_anew(state, after, when, entry->offset);
    } else if (after.planned && *after.planned > std::max(wall, after.last_planned)) {
      const Planned again = next_planned(state, when, *after.planned - 1);
      const bool is_other = again.state != ScheduleState::NoZone && again.at != after.planned;
      if (is_other) plan(after, next_planned(state, when, std::max(wall, after.last_planned)));
    }
    if (after != entry->progress()) change(state, *entry, after);
  }
}

void pass_due(State& state, const std::string& name) {
  if (state.limits.calendar == nullptr) return;
  for (;;) {
    const ScheduleEntry* const entry = state.schedules.find(name);
    if (entry == nullptr || entry->retry_at > 0 || state.turn.is_over()) return;
    const std::optional<Nanos> due = entry->due();
    if (!due || *due > state.turn.wall()) return;
    pass(state, *entry);
  }
}

void fire_schedules(State& state) {
  if (state.limits.calendar == nullptr) return;
  compare_with_calendar(state);
  while (!state.turn.is_over()) {
    const ScheduleEntry* const entry = next_due(state);
    if (entry == nullptr) return;
    // The wall clock may have gone back since it was refused.
    if (*entry->due() > state.turn.wall()) {
      state.schedules.end_refusal(*entry);
    } else {
      pass(state, *entry);
    }
  }
}

}  // namespace perennial::engine
