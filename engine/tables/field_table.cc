#include "engine/tables/field_table.h"

#include <utility>

#include "engine/types/later.h"
#include "engine/types/note.h"

namespace perennial::engine {

FieldTable::~FieldTable() {
  for (auto entry = fields_.first_from(0); entry.value != nullptr;
       entry = fields_.first_from(entry.id + 1)) {
    delete *entry.value;
  }
}

JobFields& FieldTable::make(Job& job) {
  if (!job.has_fields) {
    fields_.insert(job.id, new JobFields());
    job.has_fields = true;
  }
  return **fields_.find(job.id);
}

void FieldTable::drop(Job& job) {
  if (!job.has_fields) return;
  delete *fields_.find(job.id);
  fields_.erase(job.id);
  job.has_fields = false;
}

void FieldTable::drop_if_empty(Job& job) {
  if (job.has_fields && *of(job) == JobFields()) drop(job);
}

void FieldTable::make_from(Job& job, const PutOptions& options, const Tube& tube, Nanos now,
                           std::string_view put_by) {
  JobFields fields;
  fields.put_by = put_by.substr(0, note_user_bytes_max);
  fields.delay_rest_ns = options.delay_rest_ns;
  fields.ttr_rest_ns = options.ttr_rest_ns;
  if (options.tries) fields.tries = static_cast<uint32_t>(options.tries->value);
  fields.backoff = options.backoff;
  fields.dead = options.dead;
  Nanos expire = options.expire.nanos;
  if (expire == 0 && tube.settings) expire = tube.settings->expire.value_or(0);
  if (expire > 0) {
    const Nanos delay = static_cast<Nanos>(job.delay_s) * nanos_per_second + options.delay_rest_ns;
    fields.expires_at = later(later(now, delay), expire);
  }
  if (options.key) {
    fields.key = JobKey{.key = options.key->key,
                        .seconds = options.key->seconds,
                        .until = options.until.value_or(KeyUntil::Deleted)};
  }
  fields.concurrency = options.concurrency;
  if (fields == JobFields()) return;
  make(job) = std::move(fields);
}

Nanos FieldTable::delay_of(const Job& job) const {
  const JobFields* const fields = of(job);
  const Nanos rest = fields != nullptr ? fields->delay_rest_ns : 0;
  return static_cast<Nanos>(job.delay_s) * nanos_per_second + rest;
}

Nanos FieldTable::ttr_of(const Job& job) const {
  const JobFields* const fields = of(job);
  const Nanos rest = fields != nullptr ? fields->ttr_rest_ns : 0;
  return static_cast<Nanos>(job.ttr_s) * nanos_per_second + rest;
}

void FieldTable::set_delay(Job& job, Nanos delay) {
  job.delay_s = static_cast<uint32_t>(delay / nanos_per_second);
  const auto rest = static_cast<uint32_t>(delay % nanos_per_second);
  if (rest == 0 && !job.has_fields) return;
  make(job).delay_rest_ns = rest;
  drop_if_empty(job);
}

void FieldTable::set_ttr(Job& job, Nanos ttr) {
  job.ttr_s = static_cast<uint32_t>(ttr / nanos_per_second);
  const auto rest = static_cast<uint32_t>(ttr % nanos_per_second);
  if (rest == 0 && !job.has_fields) return;
  make(job).ttr_rest_ns = rest;
  drop_if_empty(job);
}

const ConcurrencyKey* FieldTable::concurrency_of(const Job& job) const {
  const JobFields* const fields = of(job);
  return fields != nullptr && fields->concurrency ? &*fields->concurrency : nullptr;
}

Nanos FieldTable::expiry_of(const Job& job) const {
  const JobFields* const fields = of(job);
  const bool counts = job.state == JobState::Ready || job.state == JobState::Delayed;
  return fields != nullptr && counts ? fields->expires_at : 0;
}

uint32_t FieldTable::tries_of(const Job& job, const Tube& tube) const {
  const JobFields* const fields = of(job);
  if (fields != nullptr && fields->tries > 0) return fields->tries;
  return tube.settings ? tube.settings->tries.value_or(0) : 0;
}

Backoff FieldTable::backoff_of(const Job& job, const Tube& tube) const {
  const JobFields* const fields = of(job);
  if (fields != nullptr && fields->backoff) return *fields->backoff;
  return tube.settings ? tube.settings->backoff.value_or(Backoff()) : Backoff();
}

const std::string& FieldTable::dead_tube_of(const Job& job, const Tube& tube) const {
  static const std::string none;
  const JobFields* const fields = of(job);
  if (fields != nullptr && !fields->dead.empty()) return fields->dead.str();
  return tube.settings && tube.settings->dead ? *tube.settings->dead : none;
}

size_t FieldTable::memory_bytes() const {
  constexpr size_t extra_bytes = 64;  // Of strings, and of the order of expiries.
  return fields_.memory_bytes() + fields_.size() * (sizeof(JobFields) + extra_bytes);
}

}  // namespace perennial::engine
