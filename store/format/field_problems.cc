#include <optional>
#include <string_view>

#include "engine/types/note.h"
#include "store/format/fields.h"

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
  if (fields.concurrency) {
    if (!is_key_of_right_length(fields.concurrency->key)) {
      return "the concurrency key is empty or too long";
    }
    if (fields.concurrency->jobs_max == 0) return "a concurrency key for no job";
  }
  for (const std::string_view wrong :
       {fields.backoff ? backoff_problem(*fields.backoff) : "", key_problem(fields.key),
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
  if (settings.expire && (*settings.expire <= 0 || *settings.expire > field_duration_max)) {
    return "expire out of range";
  }
  if (settings.rate) {
    const bool is_in_range = settings.rate->jobs > 0 && settings.rate->period > 0 &&
                             settings.rate->period <= field_duration_max;
    if (!is_in_range) return "rate out of range";
  }
  if (settings.keep && (*settings.keep <= 0 || *settings.keep > field_duration_max)) {
    return "keep out of range";
  }
  if (settings.keep_max && *settings.keep_max == 0) return "keep-max out of range";
  return settings.backoff ? backoff_problem(*settings.backoff) : "";
}

}  // namespace perennial::store
