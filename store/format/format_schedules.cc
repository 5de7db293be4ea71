#include <optional>
#include <string>

#include <fmt/format.h>
#include <xxhash.h>

#include "engine/types/check.h"
#include "store/format/bytes.h"
#include "store/format/fields.h"
#include "store/format/format.h"

// The rows of the family `schedules`.
namespace perennial::store {
namespace {

// The offset of each part of a definition. README.md draws it. Its body and its hash follow.
namespace definition_at {
constexpr size_t fields_bytes = 4, fields = 8, hash_bytes = 8;
}  // namespace definition_at

// And of a progress.
namespace progress_at {
constexpr size_t state = 1, paused = 2, unused = 3, planned = 8, last_planned = 16, last_fired = 24,
                 last_job = 32, fired = 40, skipped = 48, missed = 56, end = 64;
}  // namespace progress_at

Status refuse(std::string_view key, std::string_view what) {
  return damaged(Family::Schedules, key, what);
}

// The key is in it, so that a value under another name is found.
uint64_t hash_of(std::string_view key, std::string_view value) {
  return XXH3_64bits_withSeed(value.data(), value.size(), XXH3_64bits(key.data(), key.size()));
}

StoredScheduleState stored_state(ScheduleState state) {
  switch (state) {
    case ScheduleState::Active:
      return StoredScheduleState::Active;
    case ScheduleState::Over:
      return StoredScheduleState::Over;
    case ScheduleState::NoZone:
      return StoredScheduleState::NoZone;
  }
  CHECK(!"a state outside the enumeration");
}

std::optional<ScheduleState> decode_schedule_state(uint8_t code) {
  switch (static_cast<StoredScheduleState>(code)) {
    case StoredScheduleState::Active:
      return ScheduleState::Active;
    case StoredScheduleState::Over:
      return ScheduleState::Over;
    case StoredScheduleState::NoZone:
      return ScheduleState::NoZone;
  }
  return std::nullopt;
}

}  // namespace

std::string_view schedule_name_problem(std::string_view name) {
  if (name.empty()) return "schedule without a name";
  return name.size() > schedule_name_bytes_max ? "schedule name too long" : "";
}

// All counts and times are there for people to read, except the next time.
std::string_view problem(const ScheduleProgress& progress) {
  const bool is_active = progress.state == ScheduleState::Active;
  if (progress.planned && !is_active) return "a next time of a schedule that has none";
  if (!progress.planned && is_active) return "an active schedule without a next time";
  if (progress.planned.value_or(0) < 0) return "a next time before the epoch";
  if (progress.last_planned < 0) return "the last planned time is before the epoch";
  return progress.last_fired < 0 ? "the last job was put before the epoch" : "";
}

std::string schedule_key(ScheduleTag tag, std::string_view name) {
  CHECK(schedule_name_problem(name).empty());
  return static_cast<char>(tag) + std::string(name);
}

Result<std::string_view> decode_schedule_key(ScheduleTag tag, std::string_view key) {
  if (key.empty() || key[0] != static_cast<char>(tag)) return refuse(key, "unknown key");
  const std::string_view name = key.substr(1);
  if (const std::string_view wrong = schedule_name_problem(name); !wrong.empty()) {
    return refuse(key, wrong);
  }
  return name;
}

std::string encode(const Schedule& schedule, std::string_view body) {
  CHECK(problem(schedule).empty());
  CHECK(body.size() == schedule.put.body_bytes);
  const size_t fields_bytes = store::fields_bytes(schedule);
  Bytes<definition_at::fields> head = {};
  put(head.data(), row_format);
  put(head.data() + definition_at::fields_bytes, static_cast<uint32_t>(fields_bytes));
  std::string value;
  value.reserve(head.size() + fields_bytes + body.size() + definition_at::hash_bytes);
  value += view(head);
  add_fields(schedule, value);
  value += body;
  Bytes<definition_at::hash_bytes> hash;
  put(hash.data(), hash_of(schedule_key(ScheduleTag::Definition, schedule.name), value));
  value += view(hash);
  return value;
}

Result<StoredSchedule> decode_schedule(std::string_view key, std::string_view value) {
  const Result<std::string_view> name = decode_schedule_key(ScheduleTag::Definition, key);
  if (!name.ok()) return name.status();
  if (value.size() < definition_at::fields + definition_at::hash_bytes) {
    return refuse(key, "wrong length");
  }
  const std::string_view hashed = value.substr(0, value.size() - definition_at::hash_bytes);
  if (get<uint64_t>(value, hashed.size()) != hash_of(key, hashed)) {
    return refuse(key, "the hash does not fit the schedule");
  }
  const std::string_view wrong = shape_problem(value, value.size(), definition_at::fields_bytes);
  if (!wrong.empty()) return refuse(key, wrong);
  const auto fields_bytes = get<uint32_t>(value, definition_at::fields_bytes);
  const std::string_view rest = hashed.substr(definition_at::fields);
  if (fields_bytes > rest.size()) return refuse(key, "the fields go beyond the end");
  StoredSchedule out = {.schedule = {.name = std::string(*name), .tube = {}, .put = {}},
                        .body = rest.substr(fields_bytes)};
  if (out.body.size() > UINT32_MAX) return refuse(key, "the body is too long");
  out.schedule.put.body_bytes = static_cast<uint32_t>(out.body.size());
  const std::string wrong_fields = decode_fields(rest.substr(0, fields_bytes), out.schedule);
  if (!wrong_fields.empty()) return refuse(key, wrong_fields);
  return out;
}

Bytes<schedule_progress_bytes> encode(const ScheduleProgress& progress) {
  static_assert(progress_at::end == schedule_progress_bytes);
  CHECK(problem(progress).empty());
  Bytes<schedule_progress_bytes> value = {};
  char* const at = value.data();
  put(at, row_format);
  put(at + progress_at::state, static_cast<uint8_t>(stored_state(progress.state)));
  put(at + progress_at::paused, static_cast<uint8_t>(progress.is_paused));
  put(at + progress_at::planned, progress.planned.value_or(0));
  put(at + progress_at::last_planned, progress.last_planned);
  put(at + progress_at::last_fired, progress.last_fired);
  put(at + progress_at::last_job, progress.last_job);
  put(at + progress_at::fired, progress.fired);
  put(at + progress_at::skipped, progress.skipped);
  put(at + progress_at::missed, progress.missed);
  return value;
}

Result<ScheduleProgress> decode_schedule_progress(std::string_view key, std::string_view value) {
  const Result<std::string_view> name = decode_schedule_key(ScheduleTag::Progress, key);
  if (!name.ok()) return name.status();
  std::string_view wrong = shape_problem(value, progress_at::end, 1);
  if (!wrong.empty()) return refuse(key, wrong);
  const std::string_view unused =
      value.substr(progress_at::unused, progress_at::planned - progress_at::unused);
  if (!all_zero(unused)) return refuse(key, "unused bytes are not zero");
  const std::optional<ScheduleState> state =
      decode_schedule_state(get<uint8_t>(value, progress_at::state));
  if (!state) return refuse(key, "a schedule in an unknown state");
  const auto paused = get<uint8_t>(value, progress_at::paused);
  if (paused > 1) return refuse(key, "it is neither paused nor not");
  const auto planned = get<Nanos>(value, progress_at::planned);
  ScheduleProgress out = {.last_planned = get<Nanos>(value, progress_at::last_planned),
                          .last_fired = get<Nanos>(value, progress_at::last_fired),
                          .last_job = get<JobId>(value, progress_at::last_job),
                          .fired = get<uint64_t>(value, progress_at::fired),
                          .skipped = get<uint64_t>(value, progress_at::skipped),
                          .missed = get<uint64_t>(value, progress_at::missed),
                          .state = *state,
                          .is_paused = paused == 1};
  if (*state == ScheduleState::Active) {
    out.planned = planned;
  } else if (planned != 0) {
    return refuse(key, "unused bytes are not zero");
  }
  wrong = problem(out);
  if (!wrong.empty()) return refuse(key, wrong);
  return out;
}

}  // namespace perennial::store
