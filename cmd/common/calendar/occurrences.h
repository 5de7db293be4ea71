#pragma once

#include <optional>

#include "absl/time/time.h"
#include "cmd/common/calendar/cron.h"
#include "engine/types/basic.h"

// At which moments a schedule is due. All times are nanoseconds since the epoch.
namespace perennial::calendar {

// The first moment after this one at which the expression is due in the zone. None: there is none
// that nanoseconds can count.
//
// Where clocks are put forward, a time that does not exist is the first moment after the gap; all
// times of a gap are one moment. Where they are put back, a time that comes twice is the first of
// both. So a job of every night at half past two runs once in each of these nights.
//
// An expression that has all hours, such as `*/10 * * * *`, is not about times of a day. It follows
// the time that passes: nothing is due in place of what is in a gap, and what comes twice is due
// twice. So an hourly job runs in each hour that passes: cron(8) does so, too.
std::optional<Nanos> next_after(const Cron& cron, const absl::TimeZone& zone, Nanos after);

// The first moment after this one that is whole periods away from `anchor`, which may be later.
// None: there is none that nanoseconds can count. REQUIRES: period > 0; the times are not negative.
std::optional<Nanos> next_after(Nanos period, Nanos anchor, Nanos after);

}  // namespace perennial::calendar
