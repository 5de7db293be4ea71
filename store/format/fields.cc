#include "store/format/fields.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/format/bytes.h"

namespace perennial::store {
namespace {

constexpr size_t field_head_bytes = 3;  // The tag, and the length in two bytes.

// Calls `out` with the tag and the parts of each field that is set, in the order of the tags. The
// parts are numbers, and at the end of a field at most one text.
template <typename Out>
void for_each_field(const JobFields& fields, const Out& out) {
  if (fields.attempts != 0) out(FieldTag::Attempts, fields.attempts);
  if (fields.tries != 0) out(FieldTag::Tries, fields.tries);
  if (fields.backoff) out(FieldTag::Backoff, fields.backoff->first, fields.backoff->cap);
  if (!fields.dead.empty()) out(FieldTag::Dead, std::string_view(fields.dead.str()));
  if (!fields.from.empty()) out(FieldTag::From, std::string_view(fields.from.str()));
  if (fields.expires_at != 0) out(FieldTag::Expires, fields.expires_at);
  if (fields.key) {
    const JobKey& key = *fields.key;
    out(FieldTag::Key, key.seconds, static_cast<uint8_t>(stored_until(key.until)),
        std::string_view(key.key));
  }
  if (fields.concurrency) {
    out(FieldTag::Concurrency, fields.concurrency->jobs_max,
        std::string_view(fields.concurrency->key));
  }
  if (fields.key && fields.key->given_up) out(FieldTag::Flags, flag_key_given_up);
  if (fields.delay_rest_ns != 0 || fields.ttr_rest_ns != 0) {
    out(FieldTag::Rests, fields.delay_rest_ns, fields.ttr_rest_ns);
  }
  if (fields.notes != 0) out(FieldTag::Notes, fields.notes);
  if (fields.restored != 0) out(FieldTag::Restored, fields.restored);
  if (!fields.put_by.empty()) out(FieldTag::PutBy, std::string_view(fields.put_by.str()));
  if (fields.first_reserved != 0) out(FieldTag::FirstReserved, fields.first_reserved);
  if (fields.schedule) {
    out(FieldTag::Schedule, fields.schedule->planned, std::string_view(fields.schedule->name));
  }
}

template <typename Out>
void for_each_field(const TubeSettings& settings, const Out& out) {
  if (settings.tries) out(FieldTag::Tries, *settings.tries);
  if (settings.backoff) out(FieldTag::Backoff, settings.backoff->first, settings.backoff->cap);
  if (settings.dead) out(FieldTag::Dead, std::string_view(*settings.dead));
  if (settings.expire) out(FieldTag::Expires, *settings.expire);
  if (settings.reserved) out(FieldTag::Reserved, *settings.reserved);
  if (settings.rate) out(FieldTag::Rate, settings.rate->jobs, settings.rate->period);
  if (settings.drain) out(FieldTag::Drain, static_cast<uint8_t>(*settings.drain));
  if (settings.keep) out(FieldTag::Keep, *settings.keep);
  if (settings.keep_max) out(FieldTag::KeepMax, *settings.keep_max);
}

uint8_t stored_overlap(ScheduleOverlap overlap) {
  switch (overlap) {
    case ScheduleOverlap::Allow:
      return 0;
    case ScheduleOverlap::Skip:
      return static_cast<uint8_t>(StoredOverlap::Skip);
    case ScheduleOverlap::Replace:
      return static_cast<uint8_t>(StoredOverlap::Replace);
  }
  CHECK(!"an overlap outside the enumeration");
}

// What the jobs of a schedule are put with, except what has a tag behind these.
template <typename Out>
void for_each_option(const PutOptions& options, const Out& out) {
  if (options.tries) out(FieldTag::Tries, static_cast<uint32_t>(options.tries->value));
  if (options.backoff) out(FieldTag::Backoff, options.backoff->first, options.backoff->cap);
  if (!options.dead.empty()) out(FieldTag::Dead, std::string_view(options.dead));
  if (options.expire.nanos != 0) out(FieldTag::Expires, options.expire.nanos);
  if (options.key) {
    const uint8_t until = options.until ? static_cast<uint8_t>(stored_until(*options.until)) : 0;
    out(FieldTag::Key, options.key->seconds, until, std::string_view(options.key->key));
  }
  if (options.concurrency) {
    out(FieldTag::Concurrency, options.concurrency->jobs_max,
        std::string_view(options.concurrency->key));
  }
  if (options.delay_rest_ns != 0 || options.ttr_rest_ns != 0) {
    out(FieldTag::Rests, options.delay_rest_ns, options.ttr_rest_ns);
  }
}

template <typename Out>
void for_each_field(const Schedule& schedule, const Out& out) {
  const Put& put = schedule.put;
  if (put.options) for_each_option(*put.options, out);
  out(FieldTag::Tube, std::string_view(schedule.tube));
  if (const auto* const every = std::get_if<ScheduleEvery>(&schedule.when)) {
    out(FieldTag::Every, every->period, every->anchor.value_or(0));
  } else if (const auto* const cron = std::get_if<ScheduleCron>(&schedule.when)) {
    out(FieldTag::Cron, std::string_view(cron->expression));
    out(FieldTag::Zone, std::string_view(cron->zone));
  } else {
    out(FieldTag::At, std::get<ScheduleAt>(schedule.when).time);
  }
  if (put.priority != 0) out(FieldTag::Priority, put.priority);
  if (put.delay_s != 0) out(FieldTag::Delay, put.delay_s);
  if (put.ttr_s != 0) out(FieldTag::Ttr, put.ttr_s);
  if (schedule.missed_max != 0) out(FieldTag::MissedMax, schedule.missed_max);
  const uint8_t overlap = stored_overlap(schedule.overlap);
  if (overlap != 0) out(FieldTag::Overlap, overlap);
  if (schedule.jitter != 0) out(FieldTag::Jitter, schedule.jitter);
}

template <typename Number>
size_t part_bytes(Number /*number*/) {
  return sizeof(Number);
}
size_t part_bytes(std::string_view text) {
  return text.size();
}

template <typename Number>
void add_part(Number number, std::string& out) {
  Bytes<sizeof number> bytes;
  put(bytes.data(), number);
  out += view(bytes);
}
void add_part(std::string_view text, std::string& out) {
  out += text;
}

template <typename Fields>
size_t count_bytes(const Fields& fields) {
  size_t bytes = 0;
  for_each_field(fields, [&bytes](FieldTag /*tag*/, const auto&... parts) {
    bytes += field_head_bytes + (part_bytes(parts) + ...);
  });
  return bytes;
}

template <typename Fields>
void add_all(const Fields& fields, std::string& out) {
  CHECK(problem(fields).empty());
  for_each_field(fields, [&out](FieldTag tag, const auto&... parts) {
    add_part(static_cast<uint8_t>(tag), out);
    add_part(static_cast<uint16_t>((part_bytes(parts) + ...)), out);
    (add_part(parts, out), ...);
  });
}

template <typename Number>
bool take_part(std::string_view& value, Number& number) {
  if (value.size() < sizeof number) return false;
  number = get<Number>(value, 0);
  value.remove_prefix(sizeof number);
  return true;
}
bool take_part(std::string_view& value, std::string& text) {
  text = value;
  value = {};
  return true;
}
bool take_part(std::string_view& value, BoxedText& text) {
  text = std::exchange(value, {});
  return true;
}
// Whether the value has exactly these parts.
template <typename... Parts>
bool take_parts(std::string_view value, Parts&... parts) {
  return (take_part(value, parts) && ...) && value.empty();
}

// Decodes the value of one field. The result is false if the value has the wrong length, or a
// number in it has no meaning. Unknown is set if these fields have no such tag.
bool take_field(FieldTag tag, std::string_view value, JobFields& fields, bool& is_unknown) {
  switch (tag) {
    case FieldTag::Attempts:
      return take_parts(value, fields.attempts);
    case FieldTag::Tries:
      return take_parts(value, fields.tries);
    case FieldTag::Backoff: {
      Backoff& backoff = fields.backoff.emplace();
      return take_parts(value, backoff.first, backoff.cap);
    }
    case FieldTag::Dead:
      return take_parts(value, fields.dead);
    case FieldTag::From:
      return take_parts(value, fields.from);
    case FieldTag::Expires:
      return take_parts(value, fields.expires_at);
    case FieldTag::Key: {
      JobKey& key = fields.key.emplace();
      uint8_t until = 0;
      return take_parts(value, key.seconds, until, key.key) && decode_until(until, key.until);
    }
    case FieldTag::Concurrency: {
      ConcurrencyKey& key = fields.concurrency.emplace();
      return take_parts(value, key.jobs_max, key.key);
    }
    case FieldTag::Flags: {
      uint8_t flags = 0;
      if (!take_parts(value, flags) || flags != flag_key_given_up || !fields.key) return false;
      fields.key->given_up = true;
      return true;
    }
    case FieldTag::Rests:
      return take_parts(value, fields.delay_rest_ns, fields.ttr_rest_ns);
    case FieldTag::Notes:
      return take_parts(value, fields.notes);
    case FieldTag::Restored:
      return take_parts(value, fields.restored);
    case FieldTag::PutBy:
      return take_parts(value, fields.put_by);
    case FieldTag::FirstReserved:
      return take_parts(value, fields.first_reserved);
    case FieldTag::Schedule: {
      ScheduleOrigin& origin = fields.schedule.emplace();
      return take_parts(value, origin.planned, origin.name);
    }
    default:
      break;
  }
  is_unknown = true;
  return false;
}

bool take_field(FieldTag tag, std::string_view value, TubeSettings& settings, bool& is_unknown) {
  switch (tag) {
    case FieldTag::Tries:
      return take_parts(value, settings.tries.emplace());
    case FieldTag::Backoff: {
      Backoff& backoff = settings.backoff.emplace();
      return take_parts(value, backoff.first, backoff.cap);
    }
    case FieldTag::Dead:
      return take_parts(value, settings.dead.emplace());
    case FieldTag::Expires:
      return take_parts(value, settings.expire.emplace());
    case FieldTag::Reserved:
      return take_parts(value, settings.reserved.emplace());
    case FieldTag::Rate: {
      Rate& rate = settings.rate.emplace();
      return take_parts(value, rate.jobs, rate.period);
    }
    case FieldTag::Drain: {
      uint8_t drain = 0;
      if (!take_parts(value, drain) || drain > 1) return false;
      settings.drain = drain == 1;
      return true;
    }
    case FieldTag::Keep:
      return take_parts(value, settings.keep.emplace());
    case FieldTag::KeepMax:
      return take_parts(value, settings.keep_max.emplace());
    default:
      break;
  }
  is_unknown = true;
  return false;
}

bool take_key(std::string_view value, PutOptions& options) {
  KeyOption& key = options.key.emplace();
  uint8_t until = 0;
  if (!take_parts(value, key.seconds, until, key.key)) return false;
  return until == 0 || decode_until(until, options.until.emplace());
}

bool take_overlap(std::string_view value, ScheduleOverlap& overlap) {
  uint8_t code = 0;
  if (!take_parts(value, code)) return false;
  switch (static_cast<StoredOverlap>(code)) {
    case StoredOverlap::Skip:
      overlap = ScheduleOverlap::Skip;
      return true;
    case StoredOverlap::Replace:
      overlap = ScheduleOverlap::Replace;
      return true;
  }
  return false;
}

// Where two tags say when, the later one replaces the other, and decode_all() finds that the fields
// are longer than what they say.
bool take_field(FieldTag tag, std::string_view value, Schedule& schedule, bool& is_unknown) {
  Put& put = schedule.put;
  switch (tag) {
    case FieldTag::Tries: {
      uint32_t tries = 0;
      if (!take_parts(value, tries)) return false;
      put.options.make().tries = TriesOption{tries};
      return true;
    }
    case FieldTag::Backoff: {
      Backoff& backoff = put.options.make().backoff.emplace();
      return take_parts(value, backoff.first, backoff.cap);
    }
    case FieldTag::Dead:
      return take_parts(value, put.options.make().dead);
    case FieldTag::Expires:
      return take_parts(value, put.options.make().expire.nanos);
    case FieldTag::Key:
      return take_key(value, put.options.make());
    case FieldTag::Concurrency: {
      ConcurrencyKey& key = put.options.make().concurrency.emplace();
      return take_parts(value, key.jobs_max, key.key);
    }
    case FieldTag::Rests: {
      PutOptions& options = put.options.make();
      return take_parts(value, options.delay_rest_ns, options.ttr_rest_ns);
    }
    case FieldTag::Tube:
      return take_parts(value, schedule.tube);
    case FieldTag::Every: {
      auto& every = schedule.when.emplace<ScheduleEvery>();
      return take_parts(value, every.period, every.anchor.emplace());
    }
    case FieldTag::Cron:
      return take_parts(value, schedule.when.emplace<ScheduleCron>().expression);
    case FieldTag::Zone: {
      auto* const cron = std::get_if<ScheduleCron>(&schedule.when);
      return cron != nullptr && take_parts(value, cron->zone);
    }
    case FieldTag::At:
      return take_parts(value, schedule.when.emplace<ScheduleAt>().time);
    case FieldTag::Priority:
      return take_parts(value, put.priority);
    case FieldTag::Delay:
      return take_parts(value, put.delay_s);
    case FieldTag::Ttr:
      return take_parts(value, put.ttr_s);
    case FieldTag::MissedMax:
      return take_parts(value, schedule.missed_max);
    case FieldTag::Overlap:
      return take_overlap(value, schedule.overlap);
    case FieldTag::Jitter:
      return take_parts(value, schedule.jitter);
    default:
      break;
  }
  is_unknown = true;
  return false;
}

template <typename Fields>
std::string decode_all(std::string_view bytes, Fields& fields) {
  if (bytes.size() > fields_bytes_max) {
    return fmt::format("the fields have more than {} bytes", fields_bytes_max);
  }
  uint8_t last = 0;
  for (std::string_view rest = bytes; !rest.empty();) {
    if (rest.size() < field_head_bytes) return "a field is cut off";
    const auto tag = get<uint8_t>(rest, 0);
    const auto value_bytes = get<uint16_t>(rest, 1);
    rest.remove_prefix(field_head_bytes);
    if (rest.size() < value_bytes) return "a field is cut off";
    if (tag <= last) return fmt::format("field {} is out of order", tag);
    last = tag;
    bool is_unknown = false;
    const bool is_taken =
        take_field(static_cast<FieldTag>(tag), rest.substr(0, value_bytes), fields, is_unknown);
    if (is_unknown) return fmt::format("field {} is unknown", tag);
    if (!is_taken) return fmt::format("field {} is invalid", tag);
    rest.remove_prefix(value_bytes);
  }
  // Fields that hold zero or nothing would not be encoded again.
  if (count_bytes(fields) != bytes.size()) return "a field without a value";
  return std::string(problem(fields));
}

}  // namespace

StoredKeyUntil stored_until(KeyUntil until) {
  switch (until) {
    case KeyUntil::Deleted:
      return StoredKeyUntil::Deleted;
    case KeyUntil::Reserved:
      return StoredKeyUntil::Reserved;
    case KeyUntil::Ttl:
      return StoredKeyUntil::Ttl;
  }
  CHECK(!"a time outside the enumeration");
}

bool decode_until(uint8_t code, KeyUntil& until) {
  switch (static_cast<StoredKeyUntil>(code)) {
    case StoredKeyUntil::Deleted:
      until = KeyUntil::Deleted;
      return true;
    case StoredKeyUntil::Reserved:
      until = KeyUntil::Reserved;
      return true;
    case StoredKeyUntil::Ttl:
      until = KeyUntil::Ttl;
      return true;
  }
  return false;
}

size_t fields_bytes(const JobFields& fields) {
  return count_bytes(fields);
}
size_t fields_bytes(const TubeSettings& settings) {
  return count_bytes(settings);
}
size_t fields_bytes(const Schedule& schedule) {
  return count_bytes(schedule);
}

void add_fields(const JobFields& fields, std::string& out) {
  add_all(fields, out);
}
void add_fields(const TubeSettings& settings, std::string& out) {
  add_all(settings, out);
}
void add_fields(const Schedule& schedule, std::string& out) {
  add_all(schedule, out);
}

std::string decode_fields(std::string_view bytes, JobFields& fields) {
  return decode_all(bytes, fields);
}
std::string decode_fields(std::string_view bytes, TubeSettings& settings) {
  return decode_all(bytes, settings);
}
std::string decode_fields(std::string_view bytes, Schedule& schedule) {
  schedule.missed_max = 0;
  return decode_all(bytes, schedule);
}

}  // namespace perennial::store
