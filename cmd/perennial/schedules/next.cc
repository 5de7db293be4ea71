#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/time/civil_time.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cmd/common/calendar/system_calendar.h"
#include "cmd/common/calendar/zone.h"
#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/schedule_request.h"
#include "cmd/perennial/schedules/server_schedules.h"

namespace perennial::tool {
namespace {

constexpr uint64_t count_max = 1'000'000;

struct ScheduleNextOptions {
  ServerAddress server = {};
  // Exactly one of these three is given.
  std::string expression;
  std::optional<std::string> every = {};
  std::string schedule;
  std::optional<std::string> anchor = {};
  std::optional<std::string> zone = {};
  std::optional<std::string> from = {};
  uint64_t count = 10;
  bool json = false;
};

// When something is due, and the zone in which its times are shown.
struct AskedTimes {
  ScheduleWhen when;
  std::string zone;
};

Status check_next(const ScheduleNextOptions& options) {
  const int given = int{!options.expression.empty()} + int{options.every.has_value()} +
                    int{!options.schedule.empty()};
  if (given != 1)
    return {StatusCode::InvalidArgument, "say of what: an EXPRESSION, --every or --of"};
  if (options.anchor && !options.every)
    return {StatusCode::InvalidArgument, "--anchor goes with --every alone"};
  return {};
}

// When what is shown begins.
struct From {
  Nanos at;
  bool is_day;  // It is the first moment of a day, which is shown, too.
};

Result<From> read_from(const std::optional<std::string>& text, const absl::TimeZone& zone) {
  absl::Time from = absl::Now();
  std::string problem;
  absl::CivilDay day;
  const bool is_day = text && absl::ParseCivilTime(*text, &day);
  if (is_day) {
    from = absl::FromCivil(day, zone);
  } else if (text && !absl::ParseTime(absl::RFC3339_full, *text, &from, &problem)) {
    return Status(StatusCode::InvalidArgument,
                  "--from is no date, and no time such as 2026-03-29T01:59:00+01:00: " + problem);
  }
  if (from < absl::UnixEpoch() || from > absl::FromUnixNanos(INT64_MAX)) {
    return Status(StatusCode::InvalidArgument, "--from is not between 1970 and 2262");
  }
  return From{.at = absl::ToUnixNanos(from), .is_day = is_day};
}

std::string rfc_3339(absl::Time at, const absl::TimeZone& zone) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%S%Ez", at, zone);
}

std::string rfc_3339_utc(absl::Time at) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", at, absl::UTCTimeZone());
}

Result<AskedTimes> times_of_flags(const ScheduleNextOptions& options) {
  ScheduleRequest request("next");
  Status set = options.every ? request.set("every", *options.every)
                             : request.set("cron", options.expression);
  if (!set.ok()) return options.every ? std::move(set).with("--every") : set;
  if (options.anchor) {
    set = request.set("anchor", *options.anchor);
    if (!set.ok()) return std::move(set).with("--anchor");
  }
  const std::string zone = options.zone.value_or(std::string(default_zone));
  AskedTimes asked = {.when = schedule_of(request.command(), {}).when, .zone = zone};
  if (auto* const cron = std::get_if<ScheduleCron>(&asked.when)) cron->zone = zone;
  return asked;
}

// Those of a schedule of the server.
Result<AskedTimes> times_of_schedule(const ScheduleNextOptions& options) {
  if (Status checked = check_schedule_name(options.schedule); !checked.ok()) return checked;
  Result<ServerConnection> server = open_schedules(options.server);
  if (!server.ok()) return server.take_status();
  const Result<StatsReply> stats = ask_stats(*server, StatsSchedule{options.schedule});
  if (!stats.ok() && stats.status().code() == StatusCode::NotFound)
    return no_schedule(*server, options.schedule);
  if (!stats.ok()) return stats.status();
  ScheduleRequest request(options.schedule);
  for (const std::string_view name : {"every", "anchor", "cron", "zone", "at"}) {
    const auto text = stats->text(name);
    if (!text) continue;
    Status set = request.set(name, std::string(*text));
    if (!set.ok()) return std::move(set).with(options.schedule);
  }
  if (Status checked = request.check(""); !checked.ok()) return checked;
  AskedTimes asked = {.when = schedule_of(request.command(), {}).when,
                      .zone = std::string(default_zone)};
  if (const auto* const cron = std::get_if<ScheduleCron>(&asked.when)) asked.zone = cron->zone;
  if (options.zone) asked.zone = *options.zone;
  return asked;
}

void show_times(const ScheduleNextOptions& options, const AskedTimes& asked,
                const absl::TimeZone& zone, Nanos from) {
  const calendar::SystemCalendar calendar;
  auto times = nlohmann::ordered_json::array();
  std::optional<Nanos> next = from;
  bool is_over = true;
  for (uint64_t left = options.count; left > 0; --left) {
    next = calendar.next_after(asked.when, *next).at;
    if (!next) break;
    is_over = false;
    const absl::Time at = absl::FromUnixNanos(*next);
    if (options.json) {
      times.push_back({{"local", rfc_3339(at, zone)}, {"utc", rfc_3339_utc(at)}});
    } else {
      fmt::print("{}  {}  {}\n", absl::FormatTime("%a", at, zone), rfc_3339(at, zone),
                 rfc_3339_utc(at));
    }
  }
  if (is_over && !is_quiet()) complain("schedule next", "no time is left");
  if (options.json) {
    print_result({{"zone", asked.zone},
                  {"tzdata", calendar::tzdata_version()},
                  {"times", std::move(times)}});
  }
}

// perennial schedule next: the coming times of an expression, a period or a schedule.
Status schedule_next(const ScheduleNextOptions& options) {
  if (Status checked = check_next(options); !checked.ok()) return checked;
  Result<AskedTimes> asked =
      options.schedule.empty() ? times_of_flags(options) : times_of_schedule(options);
  if (!asked.ok()) return asked.status();
  const Result<absl::TimeZone> zone = calendar::find_zone(asked->zone);
  if (!zone.ok()) return {StatusCode::InvalidArgument, zone.status().message()};
  const Result<From> from = read_from(options.from, *zone);
  if (!from.ok()) return from.status();
  auto* const every = std::get_if<ScheduleEvery>(&asked->when);
  const bool begins_there = every != nullptr && !every->anchor;
  // As the server begins a period that has no anchor: it is due for the first time when one is
  // over.
  if (begins_there) every->anchor = from->at - from->at % nanos_per_second;
  const bool is_shown = from->is_day && !begins_there;
  show_times(options, *asked, *zone, is_shown ? from->at - 1 : from->at);
  return {};
}

}  // namespace

Subcommand schedule_next_command() {
  const auto options = std::make_shared<ScheduleNextOptions>();
  return {
      .name = "schedule next",
      .summary = "Show when a cron expression, a period or a schedule is due next",
      .about =
          "Prints the coming times of an expression, or of a period, in the time zone and in UTC. "
          "It asks no server, but for a schedule with --of. Those are the planned times: the "
          "jitter of the schedule is not in them, nor whether it is paused. They are read with the "
          "tzdata of this machine.\n\n"
          "Five fields: minute, hour, day of the month, month, day of the week (0-7 or sun-sat). "
          "With six fields the first one is the second. A field has lists, ranges, steps and "
          "names: 0,30 9-17/2 * jan-jun mon-fri. A day must be in both fields of days if one of "
          "them begins with a star, and else in one of them. Day of the month: L is the last day, "
          "L-2 two days before it, 15W the weekday that is nearest to the 15th, LW the last "
          "weekday. Day of the week: 5L is the last Friday, 1#2 the second Monday. @yearly "
          "(or @annually), @monthly, @weekly, @daily (or @midnight) and @hourly stand for all "
          "fields.\n\n"
          "Where clocks are put forward, a time that does not exist is the first moment after the "
          "gap. Where they are put back, a time that comes twice is the first of both. An "
          "expression that has all hours, such as */10 * * * *, follows the time that passes "
          "instead: it leaves the gap out, and is due in both of the two hours.",
      .examples =
          "  perennial schedule next '30 2 * * *' --zone Europe/Berlin\n"
          "  perennial schedule next '0 9 * * 1#1' --zone America/New_York --count 12\n"
          "  perennial schedule next '30 2 * * *' --zone Europe/Berlin --from 2026-10-24\n"
          "  perennial schedule next '0 30 2 * * *' --zone Europe/Berlin --from "
          "2026-03-28T12:00:00+01:00\n"
          "  perennial schedule next --every 90m --anchor 2026-03-28T00:00:00Z\n"
          "  perennial schedule next --of nightly\n",
      .flags = with_server_flags(
          options->server,
          {
              {"EXPRESSION", "", "The cron expression, as one word", &options->expression},
              option_flag("every", "A period instead, at least 1s", options->every),
              option_flag("anchor", "A time from which the periods are counted; without, --from",
                          options->anchor),
              {"--of", "NAME", "A schedule of the server instead", &options->schedule},
              server_flag(options->server),
              {"--zone", "ZONE", "The time zone; without, that of the schedule, or UTC",
               &options->zone},
              {"--from", "TIME",
               "Show times after this one, in RFC 3339, or from a date on; without, after now",
               &options->from},
              {.name = "--count",
               .value = "N",
               .help = "Show so many",
               .target = &options->count,
               .lowest = 1,
               .highest = count_max},
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return schedule_next(*options); },
  };
}

}  // namespace perennial::tool
