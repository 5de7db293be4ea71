#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/common/tool/stats_reply.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"
#include "engine/types/status.h"

// What sets a schedule: the values of flags, or of a file. Pure, but for the time zones of this
// system.
namespace perennial::tool {

// InvalidArgument: the protocol does not allow this name of a schedule.
Status check_schedule_name(std::string_view name);

// A set-schedule that is made from its values, which are texts. Their names are those of the
// options of the protocol, and `pri`, `delay` and `ttr`, which are arguments there.
class ScheduleRequest {
 public:
  explicit ScheduleRequest(std::string name);

  // Sets one value. InvalidArgument: the server would refuse it, or this system does not know the
  // time zone. The message does not have the name of the value. REQUIRES: there is such a value.
  Status set(std::string_view name, const std::string& text);
  // InvalidArgument: the values do not go together. `dashes` stand before each name in the message.
  Status check(std::string_view dashes) const;

  // Without the size of the body.
  const SetSchedule& command() const { return command_; }
  // What the server must allow for it.
  ExtensionSet needed() const { return needed_; }

 private:
  Status set_number(std::string_view name, std::string_view text);
  Status set_option(std::string_view name, const std::string& text);

  SetSchedule command_;
  ExtensionSet needed_;
};

// The names of the values that set-schedule sets and stats-schedule tells, but for the body.
inline constexpr auto schedule_value_names = std::to_array<std::string_view>(
    {"tube",  "every", "anchor", "cron",    "zone",   "at",     "pri",
     "delay", "ttr",   "tries",  "backoff", "dead",   "expire", "idp",
     "until", "con",   "missed", "overlap", "jitter", "paused"});

// The values of a set-schedule as stats-schedule tells them. `anchor` and `paused` are there only
// if they are set.
using ScheduleValues = std::vector<std::pair<std::string, std::string>>;
ScheduleValues values_of(const SetSchedule& command);

// One of these values in an answer of stats-schedule, written as values_of() writes it.
std::optional<std::string> told_value(const StatsReply& stats, std::string_view name);

}  // namespace perennial::tool
