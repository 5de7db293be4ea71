#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/boxed.h"
#include "engine/types/boxed_text.h"

// What a job has only if its client asked for an extension, and the settings of a tube.
namespace perennial {

// A key is 1 to this many bytes of those that a tube's name may have, and does not begin with "-".
inline constexpr uint32_t key_bytes_max = 200;
// The highest `tries`.
inline constexpr uint32_t tries_max = 1'000'000;

// The delay of a job that comes back after a counted attempt: `first` after the first one, doubled
// with each further one, at most `cap`. Nanoseconds; 0 < first <= cap, both whole milliseconds.
struct Backoff {
  Nanos first = 0;
  Nanos cap = 0;

  bool operator==(const Backoff&) const = default;
};

// The cap where none is given.
inline constexpr Nanos backoff_cap_default = 3600 * nanos_per_second;

// How long the key of a job is held.
enum class KeyUntil : uint8_t {
  Deleted,   // While the job exists, and then for `seconds`.
  Reserved,  // Until its first reservation, and then for `seconds`.
  Ttl,       // For `seconds` after the put, whatever becomes of the job.
};
struct KeyUntilRow {
  KeyUntil until;
  std::string_view name;  // In the option `until:`.
};
inline constexpr std::array key_until_rows = {KeyUntilRow{KeyUntil::Deleted, "deleted"},
                                              KeyUntilRow{KeyUntil::Reserved, "reserved"},
                                              KeyUntilRow{KeyUntil::Ttl, "ttl"}};
struct JobKey {
  std::string key;
  uint32_t seconds = 0;
  KeyUntil until = KeyUntil::Deleted;
  // The job has given the key up, and never takes it again.
  bool given_up = false;

  bool operator==(const JobKey&) const = default;
};

// Limits how many jobs of its tube with this key may be reserved at once.
struct ConcurrencyKey {
  std::string key;
  uint32_t jobs_max = 1;  // At least 1.

  bool operator==(const ConcurrencyKey&) const = default;
};

// Which schedule put a job, and for which planned time of the wall clock.
struct ScheduleOrigin {
  std::string name;
  Nanos planned = 0;  // Since the epoch.

  bool operator==(const ScheduleOrigin&) const = default;
};

// The optional fields of a job. A job without any of them has no JobFields at all, and one with
// some has few of them, so what is large is boxed. A number of 0 and an empty text mean: not set.
struct JobFields {
  uint32_t attempts = 0;  // The attempts that counted, since the last kick.
  uint32_t tries = 0;     // At most tries_max.
  Boxed<Backoff> backoff = {};
  BoxedText dead = {};   // The name of the tube that the job moves to when it is dead.
  BoxedText from = {};   // The name of the tube in which it died.
  Nanos expires_at = 0;  // Since the epoch.
  Boxed<JobKey> key = {};
  Boxed<ConcurrencyKey> concurrency = {};
  // What delay_s and ttr_s of the row leave out: nanoseconds below one second, whole milliseconds.
  uint32_t delay_rest_ns = 0;
  uint32_t ttr_rest_ns = 0;
  uint32_t notes = 0;  // How many notes the job had. The last notes_max of them are kept.
  JobId restored = 0;  // The job that had ended and that was restored as this one.
  // Only of a job that was put, or first reserved, in a tube that keeps jobs which end.
  BoxedText put_by = {};     // The user, cut off as that of a note is.
  Nanos first_reserved = 0;  // Since the epoch.
  Boxed<ScheduleOrigin> schedule = {};

  bool operator==(const JobFields&) const = default;
};
static_assert(sizeof(JobFields) == 104);

// Whether a field is set that tells what became of the job. Only directories and clusters in which
// jobs that end may be kept can have them.
inline bool has_history(const JobFields& fields) {
  return fields.restored != 0 || !fields.put_by.empty() || fields.first_reserved != 0;
}

// At most `jobs` reservations per `period`, refilled evenly. Both at least 1.
struct Rate {
  uint32_t jobs = 0;
  Nanos period = 0;

  bool operator==(const Rate&) const = default;
};

// What set-tube sets, each for itself. Without a value the field is not set.
struct TubeSettings {
  std::optional<uint32_t> tries = {};  // 1 to tries_max.
  std::optional<Backoff> backoff = {};
  std::optional<std::string> dead = {};
  std::optional<Nanos> expire = {};  // A duration. More than 0.
  std::optional<uint32_t> reserved = {};
  std::optional<Rate> rate = {};
  std::optional<bool> drain = {};
  // Jobs that end are kept for so long, more than 0, and the last ones, at least 1. Without both
  // they are gone.
  std::optional<Nanos> keep = {};
  std::optional<uint32_t> keep_max = {};

  bool operator==(const TubeSettings&) const = default;
};

// Settings for the tubes of one name, or, with "*" at the end, of all names that begin so.
struct TubeDefaults {
  std::string pattern;
  TubeSettings settings;
};

}  // namespace perennial
