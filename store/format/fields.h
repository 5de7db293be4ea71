#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/job_fields.h"

// Optional fields as bytes: those of a job behind the fixed part of its row, and the settings of a
// tube. README.md draws them. A field is a tag, the length of its value and the value. Fields are
// in the order of their tags, and a field that is not set is not there. So the same fields always
// have the same bytes.
namespace perennial::store {

// What a field is. The tags are shared by jobs and tubes where they mean the same.
enum class FieldTag : uint8_t {
  Attempts = 1,
  Tries = 2,
  Backoff = 3,
  Dead = 4,
  From = 5,
  Expires = 6,  // Of a job: a point in time. Of a tube: a duration.
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
};
// The bits of the field Flags.
inline constexpr uint8_t flag_key_given_up = 1;
enum class StoredKeyUntil : uint8_t { Deleted = 1, Reserved = 2, Ttl = 3 };

// The longest that all fields of one job or of one tube may be.
inline constexpr size_t fields_bytes_max = 2048;
// The longest duration of a field, in nanoseconds.
inline constexpr Nanos field_duration_max = Nanos{UINT32_MAX} * nanos_per_second;

StoredKeyUntil stored_until(KeyUntil until);
// Returns false if the disk holds no such number.
bool decode_until(uint8_t code, KeyUntil& until);

// The validators return what is wrong with the fields, or nothing. They do not know which bytes the
// name of a tube may have.
std::string_view problem(const JobFields& fields);
std::string_view problem(const TubeSettings& settings);
// Also for the keys in rows of the family `keys`.
bool is_key_of_right_length(std::string_view key);

// The number of bytes that add_fields() adds.
size_t fields_bytes(const JobFields& fields);
size_t fields_bytes(const TubeSettings& settings);
// Appends the fields to `out`. REQUIRES: they are valid.
void add_fields(const JobFields& fields, std::string& out);
void add_fields(const TubeSettings& settings, std::string& out);
// Decodes all of `bytes` into `fields`, which are empty. Returns what is wrong, or nothing.
std::string decode_fields(std::string_view bytes, JobFields& fields);
std::string decode_fields(std::string_view bytes, TubeSettings& settings);

}  // namespace perennial::store
