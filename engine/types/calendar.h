#pragma once

#include <optional>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/schedule.h"

namespace perennial {

// At which times a schedule is due: a function that the engine is given, because time zones are
// files of the system. What it answers never changes while an engine has it.
class Calendar {
 public:
  struct Next {
    std::optional<Nanos> at = {};  // None: there is none.
    bool zone_is_known = true;     // Otherwise there is no answer.
  };

  Calendar() = default;
  Calendar(const Calendar&) = delete;
  Calendar& operator=(const Calendar&) = delete;
  virtual ~Calendar() = default;

  // The first planned time after this one. REQUIRES: a period has an anchor; `after` is not
  // negative.
  virtual Next next_after(const ScheduleWhen& when, Nanos after) const = 0;
  // By how much the times of this schedule are due later: from 0 to below `jitter`, which is more
  // than 0.
  virtual Nanos offset(std::string_view name, Nanos jitter) const = 0;
};

}  // namespace perennial
