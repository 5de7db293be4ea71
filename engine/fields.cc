// The optional fields of jobs: kept in a table, because few jobs have them.

#include <algorithm>
#include <memory>

#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {

JobFields& State::make_fields(Job& job) {
  if (!job.has_fields) {
    fields_.insert(job.id, new JobFields());
    job.has_fields = true;
  }
  return **fields_.find(job.id);
}

void State::drop_fields(Job& job) {
  if (!job.has_fields) return;
  delete *fields_.find(job.id);
  fields_.erase(job.id);
  job.has_fields = false;
}

void State::drop_empty_fields(Job& job) {
  if (job.has_fields && *fields_of(job) == JobFields()) drop_fields(job);
}

JobRow State::row_of(const Job& job) const {
  JobRow row = to_row(job);
  if (job.state == JobState::Ready) {
    const bool is_implied =
        is_ready_since_put(job) && job.order == static_cast<uint64_t>(job.created);
    row.order = is_implied ? 0 : job.order;
  }
  if (const JobFields* const fields = fields_of(job)) row.fields = *fields;
  return row;
}

// A tube's `expire` is applied when a job is put, because it counts from there.
void State::set_fields(Job& job, const PutOptions& options, const Tube& tube) {
  JobFields fields;
  fields.delay_rest_ns = options.delay_rest_ns;
  fields.ttr_rest_ns = options.ttr_rest_ns;
  if (options.tries) fields.tries = static_cast<uint32_t>(options.tries->value);
  fields.backoff = options.backoff;
  fields.dead = options.dead;
  Nanos expire = options.expire.nanos;
  if (expire == 0 && tube.settings) expire = tube.settings->expire.value_or(0);
  if (expire > 0) {
    const Nanos delay = static_cast<Nanos>(job.delay_s) * nanos_per_second + options.delay_rest_ns;
    fields.expires_at = later(later(turn_.now(), delay), expire);
  }
  if (options.key) {
    fields.key = JobKey{.key = options.key->key,
                        .seconds = options.key->seconds,
                        .until = options.until.value_or(KeyUntil::Deleted)};
  }
  fields.concurrency = options.concurrency;
  if (fields == JobFields()) return;
  make_fields(job) = std::move(fields);
}

const ConcurrencyKey* State::concurrency_of(const Job& job) const {
  const JobFields* const fields = fields_of(job);
  return fields != nullptr && fields->concurrency ? &*fields->concurrency : nullptr;
}

void State::enter_group(Tube& tube, Job& job, const ConcurrencyKey& key) {
  if (!tube.groups) tube.groups = std::make_unique<ConcurrencyGroups>(tube.ready);
  jobs_parked_ -= tube.groups->parked();
  const auto jobs_max = [this](const Job& each) { return concurrency_of(each)->jobs_max; };
  if (job.state == JobState::Ready) {
    tube.groups->add_ready(key, job, jobs_max);
  } else {
    tube.groups->add_reserved(key, jobs_max);
  }
  jobs_parked_ += tube.groups->parked();
  update_has_ready(tube);
}

void State::leave_group(Tube& tube, Job& job, const ConcurrencyKey& key) {
  jobs_parked_ -= tube.groups->parked();
  const auto jobs_max = [this](const Job& each) { return concurrency_of(each)->jobs_max; };
  if (job.state == JobState::Ready) {
    tube.groups->remove_ready(key, job, jobs_max);
  } else {
    tube.groups->remove_reserved(key, jobs_max);
  }
  jobs_parked_ += tube.groups->parked();
  // Another job of the key may be reserved now.
  on_slot_freed(tube);
}

bool State::is_parked(const Job& job) const {
  const ConcurrencyKey* const key = concurrency_of(job);
  return key != nullptr && job.state == JobState::Ready && tube_of(job.tube).groups->is_full(*key);
}

Nanos State::delay_of(const Job& job) const {
  const JobFields* const fields = fields_of(job);
  const Nanos rest = fields != nullptr ? fields->delay_rest_ns : 0;
  return static_cast<Nanos>(job.delay_s) * nanos_per_second + rest;
}

Nanos State::ttr_of(const Job& job) const {
  const JobFields* const fields = fields_of(job);
  const Nanos rest = fields != nullptr ? fields->ttr_rest_ns : 0;
  return static_cast<Nanos>(job.ttr_s) * nanos_per_second + rest;
}

void State::set_delay(Job& job, Nanos delay) {
  job.delay_s = static_cast<uint32_t>(delay / nanos_per_second);
  const auto rest = static_cast<uint32_t>(delay % nanos_per_second);
  if (rest == 0 && !job.has_fields) return;
  make_fields(job).delay_rest_ns = rest;
  drop_empty_fields(job);
}

void State::set_ttr(Job& job, Nanos ttr) {
  job.ttr_s = static_cast<uint32_t>(ttr / nanos_per_second);
  const auto rest = static_cast<uint32_t>(ttr % nanos_per_second);
  if (rest == 0 && !job.has_fields) return;
  make_fields(job).ttr_rest_ns = rest;
  drop_empty_fields(job);
}

Nanos State::expiry_of(const Job& job) const {
  const JobFields* const fields = fields_of(job);
  const bool counts = job.state == JobState::Ready || job.state == JobState::Delayed;
  return fields != nullptr && counts ? fields->expires_at : 0;
}

}  // namespace perennial::engine
