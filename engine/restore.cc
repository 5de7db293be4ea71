// Builds the state from what was stored. What a crash interrupted is completed by ordinary
// transitions.

#include <algorithm>
#include <string>
#include <variant>

#include "engine/engine.h"
#include "engine/operations/operations.h"
#include "engine/tables/state.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

Status corrupt(std::string message) {
  return {StatusCode::Corruption, std::move(message)};
}

Status key_and_job_differ(std::string_view tube, std::string_view key, JobId job) {
  return corrupt("key " + std::string(key) + " of tube " + std::string(tube) + " and job " +
                 std::to_string(job) + " do not fit; see perennial check");
}

// A key that is held has its job, and a job that holds its key has it. The rows of jobs and keys
// are written together, so they differ only if some were lost.
Status check_restored_keys(const State& state) {
  Status status;
  state.keys.for_each([&](const KeyTable::Name& name, const KeyTable::Entry& entry) {
    if (entry.expires_at > 0) return;
    const Job* const job = state.jobs.find(entry.job);
    const JobFields* const fields = job != nullptr ? state.fields.of(*job) : nullptr;
    const bool fits = fields != nullptr && fields->key && fields->key->key == name.key &&
                      !fields->key->given_up && state.tube_of(*job).name == name.tube;
    if (!fits && status.ok()) status = key_and_job_differ(name.tube, name.key, entry.job);
  });
  state.fields.for_each([&](JobId id, const JobFields& fields) {
    const auto& key = fields.key;
    if (!key || key->given_up || key->until == KeyUntil::Ttl) return status.ok();
    const std::string& tube = state.tube_of(*state.jobs.find(id)).name;
    const KeyTable::Entry* const found = state.keys.find(tube, key->key);
    const bool fits = found != nullptr && found->job == id;
    if (!fits && status.ok()) status = key_and_job_differ(tube, key->key, id);
    return status.ok();
  });
  return status;
}

}  // namespace

Status Engine::restore_tube(TubeId id, std::string_view name) {
  TubeTable& tubes = state_->tubes;
  const std::string what = "tube " + std::to_string(id) + " named \"" + std::string(name) + "\"";
  if (id >= tube_id_limit) return corrupt(what + " has a number out of range");
  if ((id == 0) != (name == "default")) return corrupt(what + ": number 0 is that of default");
  if (id == 0) {
    tubes.of(0).stored = true;
    return {};
  }
  if (tubes.find(name) != nullptr) return corrupt(what + " is there under another number, too");
  if (tubes.has_number(id)) return corrupt(what + " has the number of another tube");
  tubes.restore(id, name);
  return {};
}

Status Engine::restore_pause(const TubePaused& pause, Nanos now) {
  TubeTable& tubes = state_->tubes;
  if (!tubes.has_number(pause.tube)) {
    return corrupt("a pause of tube " + std::to_string(pause.tube) + ", which is not there");
  }
  Tube& tube = tubes.of(pause.tube);
  if (tube.paused()) return corrupt("two pauses of tube " + tube.name);
  if (pause.pause < 1) return corrupt("a pause of tube " + tube.name + " without a length");
  // A clock that was set back must not make a pause longer than it was asked to be.
  tubes.restore_pause(tube, pause.pause,
                      std::clamp<Nanos>(pause.until, 0, later(now, pause.pause)));
  return {};
}

Status Engine::restore_job(const JobRow& row, Nanos now) {
  const std::string what = "job " + std::to_string(row.id);
  if (row.id == 0) return corrupt(what + " is no job's number");
  if (!state_->tubes.has_number(row.tube)) {
    return corrupt(what + " is in tube " + std::to_string(row.tube) + ", which is not there");
  }
  if (state_->jobs.find(row.id) != nullptr) return corrupt(what + " is in two states");
  if (row.state == JobState::Reserved && state_->conns.find(ConnTable::former) == nullptr) {
    give_back_later(*state_, state_->conns.make_former());
  }
  state_->jobs.restore(row, now);
  return {};
}

Status Engine::restore_key(const KeyStored& key, Nanos /*now*/) {
  if (state_->keys.find(key.tube, key.key) != nullptr) {
    return corrupt("two entries of key " + key.key + " of tube " + key.tube);
  }
  state_->keys.store(key.tube, key.key,
                     {.job = key.job, .until = key.until, .expires_at = key.expires_at});
  return {};
}

// The tube gets its settings in finish_restore(), or when it is made.
Status Engine::restore_settings(const SettingsStored& settings) {
  if (!state_->tubes.restore_settings(settings.tube, settings.settings)) {
    return corrupt("two records of the settings of tube " + settings.tube);
  }
  return {};
}

Status Engine::restore_ended(const std::string& tube, const EndedSpan& span) {
  const std::string what = "the places of ended jobs of tube " + tube;
  if (span.first < 1 || span.first >= span.next) return corrupt(what + " are none");
  if (!state_->ended.of(tube).empty()) return corrupt("two records of " + what);
  state_->ended.set(tube, span);
  return {};
}

// It fires nothing before the first Tick, which brings the wall clock.
Status Engine::restore_schedule(const ScheduleStored& stored) {
  const std::string& name = stored.schedule->name;
  const std::string what = "schedule " + name;
  if (state_->schedules.find(name) != nullptr) return corrupt("two records of " + what);
  if (const auto* const every = std::get_if<ScheduleEvery>(&stored.schedule->when)) {
    if (every->period < 1 || !every->anchor) return corrupt(what + " has no period");
  }
  const ScheduleProgress& progress = stored.progress;
  const bool is_active = progress.state == ScheduleState::Active;
  if (progress.planned.has_value() != is_active) {
    return corrupt(what + " has a next time and is over, or none and is not");
  }
  state_->schedules.set(stored);
  const bool has_zone = std::holds_alternative<ScheduleCron>(stored.schedule->when);
  if (has_zone && progress.state != ScheduleState::Over) state_->uncompared.push_back(name);
  return {};
}

Status Engine::finish_restore(JobId next_id, Nanos now, Output& out) {
  State& state = *state_;
  const JobId least = state.jobs.next_id();
  if (next_id < least) {
    return corrupt("the next id is " + std::to_string(next_id) + ", but job " +
                   std::to_string(least - 1) + " is there");
  }
  if (Status keys = check_restored_keys(state); !keys.ok()) return keys;
  const bool is_new =
      next_id == 1 && state.tubes.settings().by_name().empty() && state.schedules.size() == 0;
  state.turn.begin({.now = is_new ? state.turn.now() : now, .event = Tick()}, out);
  state.jobs.finish_restore(next_id);
  state.tubes.finish_restore(is_new);
  state.turn.end();
  return {};
}

}  // namespace perennial::engine
