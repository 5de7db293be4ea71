#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/job_fields.h"
#include "engine/types/job_row.h"

// Jobs that have ended and are kept for a while, on disk only: the settings `keep` and `keep-max`.
// They are no jobs for any command but those that are about them.
namespace perennial {

enum class JobEnd : uint8_t { Deleted, Flushed, Expired };
struct JobEndRow {
  JobEnd how;
  std::string_view name;
};
inline constexpr std::array job_end_rows = {JobEndRow{JobEnd::Deleted, "deleted"},
                                            JobEndRow{JobEnd::Flushed, "flushed"},
                                            JobEndRow{JobEnd::Expired, "expired"}};

constexpr std::string_view name_of(JobEnd how) {
  return job_end_rows[static_cast<size_t>(how)].name;
}

struct EndedJob {
  JobRow row = {};        // As it was just before its end, but with the tube 0.
  std::string tube = {};  // By name, because the job outlives its tube.
  uint64_t place = 0;     // Among the ended jobs of the tube.
  JobEnd how = JobEnd::Deleted;
  Nanos at = 0;           // Since the epoch.
  std::string user = {};  // Who ended it. Empty: there are no users, or it expired.

  bool operator==(const EndedJob&) const = default;
};

// The places of the ended jobs of a tube, which are numbered in the order in which they ended. All
// of them are from `first` to below `next`, where that of a restored one is empty.
struct EndedSpan {
  uint64_t first = 1;
  uint64_t next = 1;

  bool empty() const { return first == next; }
  bool operator==(const EndedSpan&) const = default;
};

// Whether a tube with these settings keeps jobs that end.
inline bool keeps_ended(const TubeSettings& settings) {
  return settings.keep.has_value() || settings.keep_max.has_value();
}
// Whether the tube keeps the job that ended `at` in this place: it is young enough, and among the
// last ones. One that is not kept is not shown, although its rows may still be there.
bool is_kept(const TubeSettings& settings, const EndedSpan& span, uint64_t place, Nanos at,
             Nanos now);

}  // namespace perennial
