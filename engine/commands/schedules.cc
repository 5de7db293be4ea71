// What a client does with schedules. Where no calendar is given there are none, and the commands
// are unknown.

#include "engine/rules/schedules.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "engine/commands/commands.h"
#include "engine/operations/operations.h"
#include "engine/rules/jobs.h"

namespace perennial::engine {
namespace {

// A period without an anchor begins with this second, unless the schedule has this period already.
void set_anchor(const State& state, ScheduleWhen& when, const ScheduleEntry* old) {
  auto* const every = std::get_if<ScheduleEvery>(&when);
  if (every == nullptr || every->anchor) return;
  const auto* const before =
      old != nullptr ? std::get_if<ScheduleEvery>(&old->schedule().when) : nullptr;
  const bool keeps = before != nullptr && before->period == every->period;
  const Nanos wall = state.turn.wall();
  every->anchor = keeps ? before->anchor : wall - wall % nanos_per_second;
}

// The first planned time of a schedule, or of one that has new times. One that is due once is so
// also if its time has passed: what becomes of it then is said by the rule for missed times. `old`
// is the schedule that is replaced, or null. Its time that has come, but is due later by its part
// of the jitter, comes with the new times, too, if it is one of them; and none comes again.
Planned first_planned(State& state, const ScheduleWhen& when, const ScheduleEntry* old) {
  if (const auto* const at = std::get_if<ScheduleAt>(&when)) return {.at = at->time};
  const Nanos wall = state.turn.wall();
  if (old == nullptr) return next_planned(state, when, wall);
  const bool waits = old->due() && *old->due() > wall && *old->progress().planned <= wall;
  return next_planned(
      state, when,
      waits ? *old->progress().planned - 1 : std::max(wall, last_passed(state, old->progress())));
}

Nanos offset_of(const State& state, const Schedule& schedule) {
  if (schedule.jitter == 0) return 0;
  return state.limits.calendar->offset(schedule.name, schedule.jitter);
}

}  // namespace

void run(State& state, Conn& conn, const SetSchedule& set) {
  if (state.limits.calendar == nullptr) {
    return state.turn.answer(conn.id, Word::UnknownCommand);
  }
  const std::string& name = set.name;
  if (!state.turn.accepts_puts() || !state.schedules.may_set(name)) {
    return state.turn.answer(conn.id, Word::OutOfMemory);
  }
  pass_due(state, name);
  const ScheduleEntry* const old = state.schedules.find(name);
  ScheduleStored stored = {.schedule = schedule_of(set, state.tubes.of(conn.used).name),
                           .progress = {}};
  ScheduleProgress& progress = stored.progress;
  const ScheduleWhen& when = stored.schedule->when;
  set_anchor(state, stored.schedule->when, old);
  if (old != nullptr) progress = old->progress();
  const bool was_paused = progress.is_paused;
  if (set.options->paused) progress.is_paused = set.options->paused->value;
  if (old == nullptr || old->schedule().when != when) {
    plan(progress, first_planned(state, when, old));
  } else if ((was_paused && !progress.is_paused) || progress.state == ScheduleState::NoZone) {
    plan_anew(state, progress, when, offset_of(state, *stored.schedule));
  }
  state.schedules.set(stored);
  state.turn.emit(std::move(stored));
  state.turn.answer(conn.id, Word::Set);
}

void run(State& state, Conn& conn, const ScheduleRefused& refused) {
  switch (refused.why) {
    case ScheduleRefused::Why::BadFormat:
      return state.turn.answer(conn.id, Word::BadFormat);
    case ScheduleRefused::Why::TooBig:
      return state.turn.answer(conn.id, Word::JobTooBig);
    case ScheduleRefused::Why::ExpectedCrlf:
      return state.turn.answer(conn.id, Word::ExpectedCrlf);
  }
}

void run(State& state, Conn& conn, const DeleteSchedule& command) {
  const ScheduleEntry* const entry = state.schedules.find(command.name);
  if (entry == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  state.schedules.erase(*entry);
  state.turn.emit(ScheduleDeleted{command.name});
  state.turn.answer(conn.id, Word::Deleted);
}

void run(State& state, Conn& conn, const PauseSchedule& command) {
  pass_due(state, command.name);
  const ScheduleEntry* const entry = state.schedules.find(command.name);
  if (entry == nullptr || state.limits.calendar == nullptr) {
    return state.turn.answer(conn.id, Word::NotFound);
  }
  const bool is_paused = !command.paused.given;
  if (entry->progress().is_paused != is_paused) {
    ScheduleProgress after = entry->progress();
    after.is_paused = is_paused;
    if (!after.is_paused) plan_anew(state, after, entry->schedule().when, entry->offset);
    change(state, *entry, after);
  }
  state.turn.answer(conn.id, is_paused ? Word::Paused : Word::Set);
}

// While the server drains it is refused by any name, as a put is.
void run(State& state, Conn& conn, const RunSchedule& command) {
  const ScheduleEntry* const entry = state.schedules.find(command.name);
  if (entry == nullptr || state.limits.calendar == nullptr) {
    const bool is_draining = state.is_draining;
    return state.turn.answer(
        conn.id, is_draining ? count_refusal(state, PutRefusal::Draining) : Word::NotFound);
  }
  const Firing firing = fire(state, *entry, state.turn.wall(), entry->progress(), entry->made_up);
  if (const auto* const id = std::get_if<JobId>(&firing)) {
    state.turn.answer(conn.id, NumberReply{Word::Inserted, *id});
  } else if (const auto* const duplicate = std::get_if<Duplicate>(&firing)) {
    state.turn.answer(conn.id, *duplicate);
  } else {
    state.turn.answer(conn.id, word_of(std::get<PutRefusal>(firing)));
  }
}

}  // namespace perennial::engine
