#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/reply.h"
#include "engine/types/schedule.h"

// What is told of schedules. etc/docs/protocol.md, "Schedules", says what each key means.
namespace perennial::wire {

// "active", "paused", "over" or "no-zone": the first of those that keeps it from firing.
std::string_view state_text(const ScheduleProgress& progress);

// "none", "one", "all" or a number, as the option `missed:` writes it.
std::string missed_text(uint32_t missed_max);

// The YAML document that answers stats-schedule: what is set, as the options of set-schedule write
// it, and how far the schedule is.
std::string schedule_yaml(const ScheduleSeen& seen);

// The YAML document that answers list-schedules: the cursor, and a flow mapping for each schedule.
std::string schedules_yaml(const ScheduleList& list);

}  // namespace perennial::wire
