#include "tests/store/random_fields.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/types/basic.h"

namespace perennial::store {
namespace {

class Choice {
 public:
  explicit Choice(std::mt19937_64& random) : random_(random) {}

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool is_set() { return below(4) == 0; }
  // From 1 to `highest`, both included.
  uint64_t up_to(uint64_t highest) {
    const uint64_t kind = below(3);
    if (kind == 0) return highest;
    return 1 + below(kind == 1 ? std::min<uint64_t>(highest, 3) : highest);
  }
  std::string name() {
    return std::string(up_to(tube_name_bytes_max), static_cast<char>('a' + below(26)));
  }
  Nanos duration() { return static_cast<Nanos>(up_to(UINT32_MAX * 1000ULL)) * nanos_per_ms; }
  Backoff backoff() {
    const Nanos one = duration();
    const Nanos other = duration();
    return {.first = std::min(one, other), .cap = std::max(one, other)};
  }
  uint32_t rest() { return static_cast<uint32_t>(up_to(999) * nanos_per_ms); }
  uint32_t number() { return static_cast<uint32_t>(up_to(UINT32_MAX)); }
  Nanos time() { return static_cast<Nanos>(up_to(INT64_MAX)) - 1; }
  ConcurrencyKey concurrency() { return {.key = name(), .jobs_max = number()}; }

 private:
  std::mt19937_64& random_;
};

}  // namespace

JobFields random_fields(std::mt19937_64& random) {
  Choice choice(random);
  JobFields fields;
  if (choice.is_set()) fields.attempts = static_cast<uint32_t>(choice.up_to(UINT32_MAX));
  if (choice.is_set()) fields.tries = static_cast<uint32_t>(choice.up_to(tries_max));
  if (choice.is_set()) fields.backoff = choice.backoff();
  if (choice.is_set()) fields.dead = choice.name();
  if (choice.is_set()) fields.from = choice.name();
  if (choice.is_set()) fields.expires_at = static_cast<Nanos>(choice.up_to(INT64_MAX));
  if (choice.is_set()) {
    fields.concurrency = choice.concurrency();
  }
  if (choice.is_set()) fields.delay_rest_ns = choice.rest();
  if (choice.is_set()) fields.ttr_rest_ns = choice.rest();
  if (choice.is_set()) fields.put_by = choice.name();
  if (choice.is_set()) fields.first_reserved = static_cast<Nanos>(choice.up_to(INT64_MAX));
  if (choice.is_set()) {
    fields.schedule = ScheduleOrigin{.name = choice.name(), .planned = choice.time()};
  }
  if (fields == JobFields{}) fields.attempts = 1;
  return fields;
}

TubeSettings random_settings(std::mt19937_64& random) {
  Choice choice(random);
  TubeSettings settings;
  if (choice.is_set()) settings.tries = static_cast<uint32_t>(choice.up_to(tries_max));
  if (choice.is_set()) settings.backoff = choice.backoff();
  if (choice.is_set()) settings.dead = choice.name();
  if (choice.is_set()) settings.expire = choice.duration();
  if (choice.is_set()) settings.reserved = static_cast<uint32_t>(choice.up_to(UINT32_MAX));
  if (choice.is_set()) {
    settings.rate = {.jobs = static_cast<uint32_t>(choice.up_to(UINT32_MAX)),
                     .period = choice.duration()};
  }
  if (choice.is_set()) settings.drain = choice.below(2) == 0;
  if (choice.is_set()) settings.keep = choice.duration();
  if (choice.is_set()) settings.keep_max = static_cast<uint32_t>(choice.up_to(UINT32_MAX));
  return settings;
}

JobKey random_key(std::mt19937_64& random, std::string key) {
  Choice choice(random);
  constexpr KeyUntil untils[] = {KeyUntil::Deleted, KeyUntil::Reserved, KeyUntil::Ttl};
  JobKey out = {.key = std::move(key), .seconds = 0, .until = untils[choice.below(3)]};
  if (out.until == KeyUntil::Ttl || choice.is_set()) {
    out.seconds = static_cast<uint32_t>(choice.up_to(1000));
  }
  return out;
}

Schedule random_schedule(std::mt19937_64& random, std::string name) {
  Choice choice(random);
  Schedule out = {.name = std::move(name), .tube = choice.name(), .put = {}};
  switch (choice.below(3)) {
    case 0:
      out.when = ScheduleEvery{.period = choice.duration(), .anchor = choice.time()};
      break;
    case 1:
      out.when = ScheduleCron{.expression = choice.name(), .zone = choice.name()};
      break;
    default:
      out.when = ScheduleAt{.time = choice.time()};
  }
  if (choice.is_set()) out.put.priority = choice.number();
  if (choice.is_set()) out.put.delay_s = choice.number();
  if (choice.is_set()) out.put.ttr_s = choice.number();
  out.missed_max = static_cast<uint32_t>(choice.below(schedule_missed_limit + 1));
  out.overlap = static_cast<ScheduleOverlap>(choice.below(3));
  if (choice.is_set()) out.jitter = choice.duration();
  PutOptions options;
  if (choice.is_set()) options.tries = TriesOption{choice.up_to(tries_max)};
  if (choice.is_set()) options.backoff = choice.backoff();
  if (choice.is_set()) options.dead = choice.name();
  if (choice.is_set()) options.expire.nanos = choice.duration();
  if (choice.is_set()) {
    const JobKey key = random_key(random, choice.name());
    options.key = KeyOption{.key = key.key, .seconds = key.seconds};
    if (key.until != KeyUntil::Deleted || choice.is_set()) options.until = key.until;
  }
  if (choice.is_set()) options.concurrency = choice.concurrency();
  if (choice.is_set()) options.delay_rest_ns = choice.rest();
  if (choice.is_set()) options.ttr_rest_ns = choice.rest();
  if (options != PutOptions{}) out.put.options = options;
  return out;
}

ScheduleProgress random_progress(std::mt19937_64& random) {
  Choice choice(random);
  ScheduleProgress out = {.last_planned = choice.time(),
                          .last_fired = choice.time(),
                          .last_job = choice.up_to(UINT64_MAX),
                          .fired = choice.up_to(UINT64_MAX),
                          .skipped = choice.up_to(UINT64_MAX),
                          .missed = choice.up_to(UINT64_MAX),
                          .state = static_cast<ScheduleState>(choice.below(3)),
                          .is_paused = choice.is_set()};
  if (choice.is_set()) out = {.state = out.state};
  if (out.state == ScheduleState::Active) out.planned = choice.time();
  return out;
}

}  // namespace perennial::store
