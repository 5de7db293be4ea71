#pragma once

#include <string_view>

#include "engine/types/calendar.h"

namespace perennial::calendar {

// The calendar of this system: periods, cron expressions in the zones of its tzdata, and times that
// come once. It keeps no state: an expression is read at each question, which takes a microsecond.
class SystemCalendar final : public Calendar {
 public:
  // An expression that is none has no next time.
  Next next_after(const ScheduleWhen& when, Nanos after) const override;
  // By the hash of the name, so that many schedules of one time are spread over the jitter.
  Nanos offset(std::string_view name, Nanos jitter) const override;
};

}  // namespace perennial::calendar
