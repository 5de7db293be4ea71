#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/job_fields.h"
#include "engine/types/schedule.h"

// Optional fields as bytes: those of a job behind the fixed part of its row, the settings of a
// tube, and what is set of a schedule. README.md draws them. A field is a tag, the length of its
// value and the value. Fields are in the order of their tags, and a field that is not set is not
// there. So the same fields always have the same bytes.
namespace perennial::store {

// What a field is. The tags are shared by jobs, tubes and schedules where they mean the same.
enum class FieldTag : uint8_t {
  Attempts = 1,
  Tries = 2,
  Backoff = 3,
  Dead = 4,
  From = 5,
  Expires = 6,  // Of a job: a point in time. Of a tube and a schedule: a duration.
  Key = 7,
  Concurrency = 8,
  Flags = 9,
  Rests = 10,
  Reserved = 11,
  Rate = 12,
  Drain = 13,
  Notes = 14,
  Restored = 15,
  Keep = 16,
  KeepMax = 17,
  PutBy = 18,
  FirstReserved = 19,
  Schedule = 20,
  Tube = 21,
  Every = 22,
  Cron = 23,
  Zone = 24,
  At = 25,
  Priority = 26,
  Delay = 27,
  Ttr = 28,
  MissedMax = 29,
  Overlap = 30,
  Jitter = 31,
};
// The bits of the field Flags.
inline constexpr uint8_t flag_key_given_up = 1;
enum class StoredKeyUntil : uint8_t { Deleted = 1, Reserved = 2, Ttl = 3 };
// A schedule that allows two jobs at once has no such field.
enum class StoredOverlap : uint8_t { Skip = 1, Replace = 2 };

// The longest that all fields of one job, one tube or one schedule may be.
inline constexpr size_t fields_bytes_max = 2048;
// The longest duration of a field, in nanoseconds.
inline constexpr Nanos field_duration_max = Nanos{UINT32_MAX} * nanos_per_second;

StoredKeyUntil stored_until(KeyUntil until);
// Returns false if the disk holds no such number.
bool decode_until(uint8_t code, KeyUntil& until);

// The validators return what is wrong with the fields, or nothing. They do not know which bytes the
// name of a tube may have. That of a schedule, problem(const Schedule&), is in format.h.
std::string_view problem(const JobFields& fields);
std::string_view problem(const TubeSettings& settings);
// Also for the keys in rows of the family `keys`.
bool is_key_of_right_length(std::string_view key);

// The number of bytes that add_fields() adds.
size_t fields_bytes(const JobFields& fields);
size_t fields_bytes(const TubeSettings& settings);
size_t fields_bytes(const Schedule& schedule);
// Appends the fields to `out`. REQUIRES: they are valid.
void add_fields(const JobFields& fields, std::string& out);
void add_fields(const TubeSettings& settings, std::string& out);
// All but its name and the size of its body.
void add_fields(const Schedule& schedule, std::string& out);
// Decodes all of `bytes` into `fields`, which are empty. Returns what is wrong, or nothing.
std::string decode_fields(std::string_view bytes, JobFields& fields);
std::string decode_fields(std::string_view bytes, TubeSettings& settings);
// The schedule has its name. What has no field gets its default value, except that no time is made
// up for.
std::string decode_fields(std::string_view bytes, Schedule& schedule);

}  // namespace perennial::store
