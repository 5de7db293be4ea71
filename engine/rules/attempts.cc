#include "engine/rules/attempts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/rules/jobs.h"
#include "engine/rules/keys.h"
#include "engine/rules/serving.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// Moves a job that is dead or has expired. Returns false if no tube for it can be had. A job that
// died once is not moved again, so that no job moves in a circle.
bool move_to_dead_tube(State& state, Job& job, bool promised) {
  const JobFields* const fields = state.fields.of(job);
  Tube& from = state.tube_of(job);
  const std::string& name = state.fields.dead_tube_of(job, from);
  if (name.empty() || (fields != nullptr && !fields->from.empty())) return false;
  Tube* const to = state.tubes.find_or_make(name);
  if (to == nullptr) return false;
  state.tubes.store(*to);
  // The job begins anew: the settings of its first life would end it again. What has happened to
  // it stays, and its notes say why it died.
  state.jobs.change(job, promised, [&] {
    end_key(state, job, KeyEnd::Free);
    JobFields& kept = state.fields.make(job);
    JobFields anew;
    anew.from = from.name;
    anew.concurrency = kept.concurrency;
    anew.ttr_rest_ns = kept.ttr_rest_ns;
    anew.notes = kept.notes;
    anew.restored = kept.restored;
    anew.put_by = std::move(kept.put_by);
    anew.first_reserved = kept.first_reserved;
    anew.schedule = std::move(kept.schedule);
    kept = std::move(anew);
    job.tube = to->id;
    job.delay_s = 0;
    job.state = JobState::Ready;
    job.order = 0;
  });
  if (&from != to) state.tubes.end_if_unused(from);
  hand_out(state, *to);
  return true;
}

void die(State& state, Job& job, bool promised) {
  ++state.counters.jobs_dead;
  ++state.tube_of(job).jobs_dead;
  if (!move_to_dead_tube(state, job, promised)) bury(state, job, promised);
}

}  // namespace

Return end_attempt(State& state, Job& job, bool counts, Nanos delay) {
  using To = Return::To;
  const Return plain = {.to = delay > 0 ? To::Delayed : To::Ready, .delay = delay};
  const Tube& tube = state.tube_of(job);
  if (!job.has_fields && !tube.settings) return plain;
  const JobFields* const fields = state.fields.of(job);
  const Nanos now = state.turn.now();
  if (fields != nullptr && fields->expires_at > 0 && fields->expires_at <= now) {
    return {.to = To::Expired};
  }
  const uint32_t tries = state.fields.tries_of(job, tube);
  const Backoff backoff = state.fields.backoff_of(job, tube);
  // Where neither is in force nothing is counted.
  if (!counts || (tries == 0 && backoff.first == 0)) return plain;
  const uint32_t attempts = ++state.fields.make(job).attempts;
  if (tries > 0 && attempts >= tries) return {.to = To::Dead};
  if (delay > 0 || backoff.first == 0) return plain;
  // The first delay, doubled with each further attempt.
  Nanos next = backoff.first;
  for (uint32_t i = 1; i < attempts && next < backoff.cap; ++i) next *= 2;
  return {.to = To::Delayed, .delay = std::min(next, backoff.cap)};
}

void give_back(State& state, Job& job, const Return& how, bool promised) {
  switch (how.to) {
    case Return::To::Ready:
      return move_to_ready(state, job, promised);
    case Return::To::Delayed: {
      state.fields.set_delay(job, how.delay);
      const Nanos until = later(state.turn.now(), how.delay);
      return state.jobs.move(job, JobState::Delayed, static_cast<uint64_t>(until), promised);
    }
    case Return::To::Dead:
      return die(state, job, promised);
    case Return::To::Expired:
      return expire(state, job, promised);
  }
}

void expire(State& state, Job& job, bool promised) {
  ++state.counters.jobs_expired;
  Tube& tube = state.tube_of(job);
  ++tube.jobs_expired;
  if (move_to_dead_tube(state, job, promised)) return;
  remove(state, job, KeyEnd::Cooldown, {.how = JobEnd::Expired, .promised = promised});
  state.tubes.end_if_unused(tube);
}

}  // namespace perennial::engine
