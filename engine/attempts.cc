// What becomes of a job at the end of an attempt: ready, delayed, dead or expired. And expiry by
// time.

#include <algorithm>
#include <utility>

#include "engine/long_operation.h"
#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {

uint32_t State::tries_of(const Job& job) const {
  const JobFields* const fields = fields_of(job);
  if (fields != nullptr && fields->tries > 0) return fields->tries;
  const Tube& tube = tube_of(job.tube);
  return tube.settings ? tube.settings->tries.value_or(0) : 0;
}

Backoff State::backoff_of(const Job& job) const {
  const JobFields* const fields = fields_of(job);
  if (fields != nullptr && fields->backoff) return *fields->backoff;
  const Tube& tube = tube_of(job.tube);
  return tube.settings ? tube.settings->backoff.value_or(Backoff()) : Backoff();
}

const std::string& State::dead_tube_of(const Job& job) const {
  static const std::string none;
  const JobFields* const fields = fields_of(job);
  if (fields != nullptr && !fields->dead.empty()) return fields->dead;
  const Tube& tube = tube_of(job.tube);
  return tube.settings && tube.settings->dead ? *tube.settings->dead : none;
}

State::Return State::end_attempt(Job& job, bool counts, Nanos delay) {
  using To = Return::To;
  const Return plain = {.to = delay > 0 ? To::Delayed : To::Ready, .delay = delay};
  if (!job.has_fields && !tube_of(job.tube).settings) return plain;
  const JobFields* const fields = fields_of(job);
  if (fields != nullptr && fields->expires_at > 0 && fields->expires_at <= turn_.now()) {
    return {.to = To::Expired};
  }
  const uint32_t tries = tries_of(job);
  const Backoff backoff = backoff_of(job);
  // Where neither is in force nothing is counted.
  if (!counts || (tries == 0 && backoff.first == 0)) return plain;
  const uint32_t attempts = ++make_fields(job).attempts;
  if (tries > 0 && attempts >= tries) return {.to = To::Dead};
  if (delay > 0 || backoff.first == 0) return plain;
  // The first delay, doubled with each further attempt.
  Nanos next = backoff.first;
  for (uint32_t i = 1; i < attempts && next < backoff.cap; ++i) next *= 2;
  return {.to = To::Delayed, .delay = std::min(next, backoff.cap)};
}

void State::give_back(Job& job, const Return& how, bool promised) {
  switch (how.to) {
    case Return::To::Ready:
      return move_to_ready(job, promised);
    case Return::To::Delayed:
      set_delay(job, how.delay);
      return move(job, JobState::Delayed, static_cast<uint64_t>(later(turn_.now(), how.delay)),
                  promised);
    case Return::To::Dead:
      return die(job, promised);
    case Return::To::Expired:
      return expire(job);
  }
}

// A kick gives the job all its tries again, and takes its expiry away.
void State::kicked(Job& job) {
  ++job.kicks;
  ++job_ends_.kicked;
  JobFields* const fields = fields_of(job);
  if (fields == nullptr) return;
  if (const Nanos expires_at = expiry_of(job)) expiries_.erase({expires_at, job.id});
  fields->attempts = 0;
  fields->expires_at = 0;
  drop_empty_fields(job);
}

void State::die(Job& job, bool promised) {
  ++jobs_dead_;
  ++tube_of(job.tube).jobs_dead;
  if (!move_to_dead_tube(job, promised)) bury(job, promised);
}

// A job that died once is not moved again, so that no job moves in a circle.
bool State::move_to_dead_tube(Job& job, bool promised) {
  const JobFields* const fields = fields_of(job);
  const std::string& name = dead_tube_of(job);
  if (name.empty() || (fields != nullptr && !fields->from.empty())) return false;
  Tube* const to = find_or_make_tube(name);
  if (to == nullptr) return false;
  Tube& from = tube_of(job.tube);
  store_tube(*to);
  // The job begins anew: the settings of its first life would end it again.
  change(job, promised, [&] {
    end_key(job, KeyEnd::Free);
    JobFields& kept = make_fields(job);
    JobFields anew;
    anew.from = from.name;
    anew.concurrency = kept.concurrency;
    anew.ttr_rest_ns = kept.ttr_rest_ns;
    kept = std::move(anew);
    job.tube = to->id;
    job.delay_s = 0;
    job.state = JobState::Ready;
    job.order = 0;
  });
  if (&from != to) end_if_unused(from);
  hand_out(*to);
  return true;
}

// ---- Expiry.

void State::expire(Job& job) {
  ++jobs_expired_;
  Tube& tube = tube_of(job.tube);
  ++tube.jobs_expired;
  if (move_to_dead_tube(job, false)) return;
  remove(job, KeyEnd::Cooldown, false);
  end_if_unused(tube);
}

Job* State::next(const Expiring& /*jobs*/) {
  if (expiries_.empty() || expiries_.begin()->first > turn_.now()) return nullptr;
  return find_job(expiries_.begin()->second);
}

void State::step(const Expiring& /*jobs*/, Job& job) {
  expire(job);
}

}  // namespace perennial::engine
