#include <optional>
#include <string_view>
#include <variant>

#include "engine/types/note.h"
#include "store/format/fields.h"
#include "store/format/format.h"

// The validators of fields.
namespace perennial::store {
namespace {

std::string_view backoff_problem(const Backoff& backoff) {
  const bool is_ordered = 0 < backoff.first && backoff.first <= backoff.cap;
  if (!is_ordered || backoff.cap > field_duration_max) return "back-off out of range";
  if (backoff.first % nanos_per_ms == 0 && backoff.cap % nanos_per_ms == 0) return {};
  return "a back-off that is no whole number of milliseconds";
}

std::string_view rest_problem(uint32_t rest_ns) {
  if (rest_ns >= nanos_per_second) return "a rest of a second or more";
  return rest_ns % nanos_per_ms == 0 ? "" : "a rest that is no whole number of milliseconds";
}

bool is_duration(Nanos nanos) {
  return 0 < nanos && nanos <= field_duration_max;
}

std::string_view concurrency_problem(const ConcurrencyKey& key) {
  if (!is_key_of_right_length(key.key)) return "the concurrency key is empty or too long";
  return key.jobs_max == 0 ? "a concurrency key for no job" : "";
}

std::string_view key_problem(const PutOptions& options) {
  if (!options.key) return options.until ? "an end of a key without the key" : "";
  if (!is_key_of_right_length(options.key->key)) return "the job's key is empty or too long";
  const bool needs_seconds = options.until == KeyUntil::Ttl;
  return needs_seconds && options.key->seconds == 0 ? "a key for no time" : "";
}

std::string_view options_problem(const PutOptions& options) {
  if (!options.tube.empty()) return "a tube in the options of a schedule";
  if (options.tries && (options.tries->value == 0 || options.tries->value > tries_max)) {
    return "tries out of range";
  }
  if (options.dead.size() > tube_name_bytes_max) return "name of the dead tube too long";
  if (options.expire.nanos != 0 && !is_duration(options.expire.nanos)) return "expire out of range";
  for (const std::string_view wrong :
       {options.backoff ? backoff_problem(*options.backoff) : "", key_problem(options),
        options.concurrency ? concurrency_problem(*options.concurrency) : "",
        rest_problem(options.delay_rest_ns), rest_problem(options.ttr_rest_ns)}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string_view when_problem(const ScheduleWhen& when) {
  if (const auto* const every = std::get_if<ScheduleEvery>(&when)) {
    if (!is_duration(every->period)) return "period out of range";
    if (!every->anchor) return "a period without an anchor";
    return *every->anchor < 0 ? "anchor before the epoch" : "";
  }
  if (const auto* const cron = std::get_if<ScheduleCron>(&when)) {
    if (cron->expression.empty()) return "no cron expression";
    return cron->zone.empty() ? "a cron expression without a zone" : "";
  }
  return std::get<ScheduleAt>(when).time < 0 ? "a schedule for a time before the epoch" : "";
}

std::string_view key_problem(const Boxed<JobKey>& key) {
  if (!key) return {};
  if (!is_key_of_right_length(key->key)) return "the job's key is empty or too long";
  return key->until == KeyUntil::Ttl && key->seconds == 0 ? "a key for no time" : "";
}

}  // namespace

bool is_key_of_right_length(std::string_view key) {
  return !key.empty() && key.size() <= key_bytes_max;
}

std::string_view problem(const JobFields& fields) {
  const size_t bytes = fields_bytes(fields);
  if (bytes == 0) return "fields without a value";
  if (bytes > fields_bytes_max) return "the fields are too long";
  if (fields.tries > tries_max) return "tries out of range";
  if (fields.dead.size() > tube_name_bytes_max) return "name of the dead tube too long";
  if (fields.from.size() > tube_name_bytes_max) return "name of the tube of origin too long";
  if (fields.expires_at < 0) return "expires before the epoch";
  if (fields.put_by.size() > note_user_bytes_max) return "name of the user too long";
  if (fields.first_reserved < 0) return "first reserved before the epoch";
  if (fields.schedule && fields.schedule->planned < 0) return "planned before the epoch";
  for (const std::string_view wrong :
       {fields.backoff ? backoff_problem(*fields.backoff) : "", key_problem(fields.key),
        fields.concurrency ? concurrency_problem(*fields.concurrency) : "",
        fields.schedule ? schedule_name_problem(fields.schedule->name) : "",
        rest_problem(fields.delay_rest_ns), rest_problem(fields.ttr_rest_ns)}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string_view problem(const TubeSettings& settings) {
  const size_t bytes = fields_bytes(settings);
  if (bytes == 0) return "settings without a value";
  if (bytes > fields_bytes_max) return "the settings are too long";
  if (settings.tries && (*settings.tries == 0 || *settings.tries > tries_max)) {
    return "tries out of range";
  }
  if (settings.dead && settings.dead->empty()) return "dead tube without a name";
  if (settings.dead && settings.dead->size() > tube_name_bytes_max) {
    return "name of the dead tube too long";
  }
  if (settings.expire && !is_duration(*settings.expire)) return "expire out of range";
  if (settings.rate) {
    const bool is_in_range = settings.rate->jobs > 0 && is_duration(settings.rate->period);
    if (!is_in_range) return "rate out of range";
  }
  if (settings.keep && !is_duration(*settings.keep)) return "keep out of range";
  if (settings.keep_max && *settings.keep_max == 0) return "keep-max out of range";
  return settings.backoff ? backoff_problem(*settings.backoff) : "";
}

std::string_view problem(const Schedule& schedule) {
  if (const std::string_view wrong = schedule_name_problem(schedule.name); !wrong.empty()) {
    return wrong;
  }
  if (const std::string_view wrong = tube_name_problem(schedule.tube); !wrong.empty()) {
    return wrong;
  }
  if (fields_bytes(schedule) > fields_bytes_max) return "the fields are too long";
  if (schedule.missed_max > schedule_missed_limit) return "a number of missed times out of range";
  if (schedule.jitter != 0 && !is_duration(schedule.jitter)) return "jitter out of range";
  if (const std::string_view wrong = when_problem(schedule.when); !wrong.empty()) return wrong;
  return schedule.put.options ? options_problem(*schedule.put.options) : "";
}

}  // namespace perennial::store
