#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/stats_reply.h"

// Schedules as text for people. Pure.
namespace perennial::tool {

// A heading, and a line for each row of list-schedules.
std::string schedules_table(const std::vector<StatsReply>& schedules);
// All that stats-schedule says, a line each.
std::string schedule_table(const StatsReply& schedule);

// "every 5m", "0 3 * * *" or "at 2026-03-29T01:59:00Z".
std::string when_text(const StatsReply& schedule);

// A time of the protocol without milliseconds that are none: "2026-03-29T01:59:00Z".
std::string short_time(std::string_view time);

}  // namespace perennial::tool
