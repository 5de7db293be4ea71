#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cmd/common/calendar/cron.h"
#include "cmd/common/calendar/occurrences.h"
#include "cmd/common/calendar/zone.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/schedules/commands.h"

namespace perennial::tool {
namespace {

constexpr uint64_t count_max = 1'000'000;

struct ScheduleNextOptions {
  std::string expression;
  std::string zone = "UTC";
  std::optional<std::string> from = {};
  uint64_t count = 10;
  bool json = false;
};

Result<Nanos> read_from(const std::optional<std::string>& text) {
  absl::Time from = absl::Now();
  std::string problem;
  if (text && !absl::ParseTime(absl::RFC3339_full, *text, &from, &problem)) {
    return Status(StatusCode::InvalidArgument,
                  "--from is no time such as 2026-03-29T01:59:00+01:00: " + problem);
  }
  if (from < absl::UnixEpoch() || from > absl::FromUnixNanos(INT64_MAX)) {
    return Status(StatusCode::InvalidArgument, "--from is not between 1970 and 2262");
  }
  return absl::ToUnixNanos(from);
}

std::string rfc_3339(absl::Time at, const absl::TimeZone& zone) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%S%Ez", at, zone);
}

std::string rfc_3339_utc(absl::Time at) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", at, absl::UTCTimeZone());
}

// perennial schedule next: the coming times of an expression.
Status schedule_next(const ScheduleNextOptions& options) {
  const Result<calendar::Cron> cron = calendar::Cron::parse(options.expression);
  if (!cron.ok()) return cron.status();
  const Result<absl::TimeZone> zone = calendar::find_zone(options.zone);
  if (!zone.ok()) return {StatusCode::InvalidArgument, zone.status().message()};
  const Result<Nanos> from = read_from(options.from);
  if (!from.ok()) return from.status();
  auto times = nlohmann::ordered_json::array();
  std::optional<Nanos> next = *from;
  for (uint64_t left = options.count; left > 0; --left) {
    next = calendar::next_after(*cron, *zone, *next);
    if (!next) break;
    const absl::Time at = absl::FromUnixNanos(*next);
    if (options.json) {
      times.push_back({{"local", rfc_3339(at, *zone)}, {"utc", rfc_3339_utc(at)}});
    } else {
      fmt::print("{}  {}  {}\n", absl::FormatTime("%a", at, *zone), rfc_3339(at, *zone),
                 rfc_3339_utc(at));
    }
  }
  if (options.json) {
    print_result({{"zone", options.zone},
                  {"tzdata", calendar::tzdata_version()},
                  {"times", std::move(times)}});
  }
  return {};
}

}  // namespace

Subcommand schedule_next_command() {
  const auto options = std::make_shared<ScheduleNextOptions>();
  return {
      .name = "schedule next",
      .summary = "Show when a cron expression is due next",
      .about =
          "Prints the coming times of an expression, in its time zone and in UTC. It asks no "
          "server.\n\n"
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
          "  perennial schedule next '0 30 2 * * *' --zone Europe/Berlin --from "
          "2026-03-28T12:00:00+01:00\n",
      .flags =
          {
              {"EXPRESSION", "", "The cron expression, as one word", &options->expression, true},
              {"--zone", "ZONE", "The time zone", &options->zone},
              {"--from", "TIME", "Show times after this one, in RFC 3339; without, after now",
               &options->from},
              {.name = "--count",
               .value = "N",
               .help = "Show so many",
               .target = &options->count,
               .lowest = 1,
               .highest = count_max},
              {"--json", "", "Report as JSON", &options->json},
          },
      .run = [options] { return schedule_next(*options); },
  };
}

}  // namespace perennial::tool
