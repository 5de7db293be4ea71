#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/types/basic.h"
#include "engine/types/put.h"

// Schedules: jobs that are put at planned times, again and again. All times here are those of the
// wall clock, in nanoseconds since the epoch, which may go back and forth; they are not negative.
namespace perennial {

// The name of a schedule has as many bytes as that of a tube, and the same rules.
inline constexpr uint32_t schedule_name_bytes_max = tube_name_bytes_max;
// The most jobs that are put at once for planned times that were missed.
inline constexpr uint32_t schedule_missed_limit = missed_most;
// Where no missed time is made up for, a job may still be put this late.
inline constexpr Nanos schedule_grace = 60 * nanos_per_second;
// When the put of a schedule was refused, it is tried again after this time.
inline constexpr Nanos schedule_retry = nanos_per_second;

// Whole periods away from the anchor. The engine sets the anchor where none is given.
struct ScheduleEvery {
  Nanos period = 0;  // More than 0.
  std::optional<Nanos> anchor = {};

  bool operator==(const ScheduleEvery&) const = default;
};
// As crontab(5) writes it, in the zone of this name. Both were found valid when it was set.
struct ScheduleCron {
  std::string expression;
  std::string zone;

  bool operator==(const ScheduleCron&) const = default;
};
// Once.
struct ScheduleAt {
  Nanos time = 0;

  bool operator==(const ScheduleAt&) const = default;
};
using ScheduleWhen = std::variant<ScheduleEvery, ScheduleCron, ScheduleAt>;

// What becomes of a planned time while the job that the schedule put last is still there, in any
// state.
enum class ScheduleOverlap : uint8_t {
  Allow,
  Skip,     // It passes without a job.
  Replace,  // The old job is deleted, unless a worker has it.
};
struct ScheduleOverlapRow {
  ScheduleOverlap overlap;
  std::string_view name;
};
inline constexpr std::array schedule_overlap_rows = {
    ScheduleOverlapRow{ScheduleOverlap::Allow, "allow"},
    ScheduleOverlapRow{ScheduleOverlap::Skip, "skip"},
    ScheduleOverlapRow{ScheduleOverlap::Replace, "replace"}};

// What a client has set. Its body is core's.
struct Schedule {
  std::string name;
  std::string tube;
  ScheduleWhen when = {};
  Put put = {};  // Without a tube.
  // For how many of the planned times that were missed a job is put: the last one counts for all
  // that are more. 0: for none, except that the last one is put while it is less late than
  // schedule_grace. At most schedule_missed_limit.
  uint32_t missed_max = 1;
  ScheduleOverlap overlap = ScheduleOverlap::Allow;
  // Each planned time is due by some part of it later, which is the same for a name each time.
  Nanos jitter = 0;

  bool operator==(const Schedule&) const = default;
};

enum class ScheduleState : uint8_t {
  Active,
  Over,    // No planned time is left.
  NoZone,  // The system does not know its zone. A start at which it does plans it anew.
};

// How far a schedule is: what changes with each firing.
struct ScheduleProgress {
  // The next planned time, without the jitter. It only grows, so no time fires twice, unless the
  // schedule is set to other times; but a start whose time zones are others than those before may
  // plan it anew, behind the wall clock and behind the last one. There exactly if the state is
  // Active.
  std::optional<Nanos> planned = {};
  // The planned time of the last job, when that was put, and which it is. 0: there was none.
  Nanos last_planned = 0;
  Nanos last_fired = 0;
  JobId last_job = 0;
  // How many jobs were put; how many planned times passed without one because the last job was
  // still there, or its key was taken; and how many because they were missed. Missed times of a
  // cron expression count as one each time, because their number is not known without a walk.
  uint64_t fired = 0;
  uint64_t skipped = 0;
  uint64_t missed = 0;
  ScheduleState state = ScheduleState::Active;
  bool is_paused = false;

  bool operator==(const ScheduleProgress&) const = default;
};

}  // namespace perennial
