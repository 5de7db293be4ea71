#include "cmd/perennial/schedules/schedules_table.h"

#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "cmd/common/duration.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/table.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

constexpr std::string_view nothing = "-";

std::string text_or_dash(const StatsReply& schedule, std::string_view key) {
  const std::string_view text = schedule.text(key).value_or("");
  return std::string(text.empty() ? nothing : text);
}

std::string state_cell(const StatsReply& schedule) {
  std::string state = text_or_dash(schedule, "state");
  if (schedule.text("refused") != "true") return state;
  // An earlier version of the server does not say it.
  const std::string_view why = schedule.text("refused-because").value_or("");
  return why.empty() ? state + " (refused)" : fmt::format("{} (refused: {})", state, why);
}

std::string last_job_cell(const StatsReply& schedule) {
  const uint64_t job = schedule.count("last-job");
  if (job == 0) return std::string(nothing);
  const std::string_view state = schedule.text("last-job-state").value_or("");
  return fmt::format("{} {}", job, state.empty() ? "gone" : state);
}

TableLine line_of_schedule(const StatsReply& schedule) {
  const std::string next = text_or_dash(schedule, "next");
  return {printable(text_or_dash(schedule, "name")),
          printable(text_or_dash(schedule, "tube")),
          printable(when_text(schedule)),
          printable(text_or_dash(schedule, "zone")),
          printable(state_cell(schedule)),
          printable(short_time(next)),
          printable(last_job_cell(schedule)),
          with_commas(schedule.count("fired")),
          with_commas(schedule.count("skipped")),
          with_commas(schedule.count("missed-times"))};
}

}  // namespace

std::string schedules_table(const std::vector<StatsReply>& schedules) {
  std::vector<TableLine> lines = {
      {"NAME", "TUBE", "WHEN", "ZONE", "STATE", "NEXT", "LAST JOB", "FIRED", "SKIPPED", "MISSED"}};
  for (const StatsReply& schedule : schedules) lines.push_back(line_of_schedule(schedule));
  constexpr size_t first_number = 7;
  return text_table(lines, {.gap = 2, .numbers = first_number});
}

std::string schedule_table(const StatsReply& schedule) {
  std::string out = fmt::format("schedule {}\n", printable(text_or_dash(schedule, "name")));
  for (const StatsReply::Field& field : schedule.fields()) {
    if (field.key == "name") continue;
    const std::string value = field.value.empty() ? std::string(nothing) : field.value;
    out += fmt::format("  {:<14}  {}\n", printable(field.key), printable(value));
  }
  return out;
}

std::string when_text(const StatsReply& schedule) {
  if (const auto cron = schedule.text("cron")) return std::string(*cron);
  if (const auto at = schedule.text("at")) return "at " + short_time(*at);
  const std::string_view every = schedule.text("every").value_or("?");
  const Result<std::chrono::milliseconds> period = common::parse_duration(every);
  return "every " + (period.ok() ? common::format_duration(*period) : std::string(every));
}

std::string short_time(std::string_view time) {
  constexpr std::string_view no_milliseconds = ".000Z";
  if (!time.ends_with(no_milliseconds)) return std::string(time);
  time.remove_suffix(no_milliseconds.size());
  return std::string(time) + "Z";
}

}  // namespace perennial::tool
