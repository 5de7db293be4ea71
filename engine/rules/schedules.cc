#include "engine/rules/schedules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/rules/jobs.h"
#include "engine/rules/serving.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// The job that the schedule has put last and that goes when the next one is put. Null: none.
Job* replaced_by(const ScheduleEntry& entry, Job* last) {
  const bool goes = last != nullptr && entry.schedule().overlap == ScheduleOverlap::Replace &&
                    last->state != JobState::Reserved;
  return goes ? last : nullptr;
}

Firing skip(State& state, const ScheduleEntry& entry, ScheduleProgress after, uint32_t made_up,
            Duplicate instead) {
  ++after.skipped;
  ++state.counters.schedules.skipped;
  change(state, entry, after, made_up);
  return instead;
}

}  // namespace

Planned next_planned(State& state, const ScheduleWhen& when, Nanos after) {
  state.turn.spend(cost::calendar_asked);
  const Calendar::Next next = state.limits.calendar->next_after(when, std::max<Nanos>(after, 0));
  if (!next.zone_is_known) return {.state = ScheduleState::NoZone};
  if (!next.at) return {.state = ScheduleState::Over};
  return {.at = next.at};
}

void plan(ScheduleProgress& progress, const Planned& next) {
  progress.planned = next.at;
  progress.state = next.state;
}

Nanos last_passed(const State& state, const ScheduleProgress& progress) {
  const bool is_far = progress.last_planned > later(state.turn.wall(), schedule_ahead_max);
  return is_far ? 0 : progress.last_planned;
}

void plan_anew(State& state, ScheduleProgress& progress, const ScheduleWhen& when, Nanos offset) {
  if (progress.state == ScheduleState::Over) return;
  // What is due once does not pass meanwhile: there is no other time.
  if (progress.planned && std::holds_alternative<ScheduleAt>(when)) return;
  const Nanos wall = state.turn.wall();
  if (progress.planned && later(*progress.planned, offset) > wall &&
      *progress.planned <= later(wall, schedule_ahead_max)) {
    return;
  }
  const Nanos passed = last_passed(state, progress);
  plan(progress, next_planned(state, when, std::max(wall - offset, passed)));
}

void change(State& state, const ScheduleEntry& entry, const ScheduleProgress& progress,
            uint32_t made_up) {
  state.schedules.change(entry, progress, made_up);
  state.turn.emit_counted(ScheduleChanged{entry.schedule().name, progress});
}

// A job that is replaced goes before the new one comes, which may take its place and its key; but
// only if the new one is accepted.
Firing fire(State& state, const ScheduleEntry& entry, Nanos planned, ScheduleProgress after,
            uint32_t made_up) {
  const Schedule& schedule = entry.schedule();
  Job* const last = state.jobs.find(entry.progress().last_job);
  if (last != nullptr && schedule.overlap == ScheduleOverlap::Skip) {
    return skip(state, entry, after, made_up, {last->id, last->state});
  }
  Job* const replaced = replaced_by(entry, last);
  const PutAdmission admission = admit_put(state, schedule.tube, nullptr, schedule.put, replaced);
  if (const auto* const duplicate = std::get_if<Duplicate>(&admission)) {
    return skip(state, entry, after, made_up, *duplicate);
  }
  if (const auto* const refusal = std::get_if<PutRefusal>(&admission)) {
    ++state.counters.schedules.refusals;
    count_refusal(state, *refusal);
    return *refusal;
  }
  Tube& tube = *std::get<Tube*>(admission);
  Tube* const left = replaced != nullptr ? &state.tube_of(*replaced) : nullptr;
  if (replaced != nullptr) {
    remove(state, *replaced, KeyEnd::Free, {JobEnd::Deleted, state.turn.user()});
  }
  after.last_planned = planned;
  after.last_fired = state.turn.wall();
  after.last_job = state.jobs.next_id();
  ++after.fired;
  ++state.counters.schedules.fired;
  change(state, entry, after, made_up);
  const ScheduleOrigin origin = {.name = schedule.name, .planned = planned};
  state.turn.spend(schedule.put.body_bytes / cost::fired_bytes_per_cost);
  const JobId id = add_job(state, tube, schedule.put, &origin);
  CHECK(id == after.last_job);
  hand_out(state, tube);
  if (left != nullptr) state.tubes.end_if_unused(*left);
  return id;
}

}  // namespace perennial::engine
