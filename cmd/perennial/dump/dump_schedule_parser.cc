#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/dump/dump_object.h"
#include "cmd/perennial/dump/dump_parser.h"
#include "cmd/perennial/output/text.h"
#include "store/format/format.h"
#include "wire/command_line.h"

// Parses the line of a schedule.
namespace perennial::tool {
namespace {

using nlohmann::json;

Status refuse_schedule(std::string_view what) {
  return {StatusCode::Corruption, fmt::format("a schedule: {}", what)};
}

ScheduleWhen parse_when(DumpObject& fields) {
  if (fields.has("every")) {
    return ScheduleEvery{.period = fields.nanos("every"), .anchor = fields.nanos("anchor")};
  }
  if (fields.has("cron")) {
    return ScheduleCron{.expression = fields.text("cron"), .zone = fields.text("zone")};
  }
  return ScheduleAt{.time = fields.nanos("at")};
}

// What belongs to another way to say when would be lost.
bool says_when_once(const DumpObject& fields) {
  const int ways = fields.has("every") + fields.has("cron") + fields.has("at");
  return ways == 1 && fields.has("every") == fields.has("anchor") &&
         fields.has("cron") == fields.has("zone");
}

PutOptions parse_options(DumpObject& fields) {
  PutOptions options;
  if (fields.has("tries")) options.tries = TriesOption{fields.small("tries")};
  if (fields.has("backoff") || fields.has("backoff_cap")) {
    options.backoff = Backoff{.first = fields.nanos("backoff"), .cap = fields.nanos("backoff_cap")};
  }
  if (fields.has("dead")) options.dead = fields.text("dead");
  if (fields.has("expire")) options.expire.nanos = fields.nanos("expire");
  if (fields.has("idp") || fields.has("idp_ttl") || fields.has("idp_until")) {
    options.key = KeyOption{.key = fields.text("idp")};
    if (fields.has("idp_ttl")) options.key->seconds = fields.small("idp_ttl");
  }
  if (fields.has("idp_until")) {
    options.until = until_of(fields.text("idp_until"));
    if (!options.until) fields.fail("a key is not held until that");
  }
  if (fields.has("con") || fields.has("con_max")) {
    options.concurrency =
        ConcurrencyKey{.key = fields.text("con"), .jobs_max = fields.small("con_max")};
  }
  if (fields.has("delay_rest")) options.delay_rest_ns = fields.small("delay_rest");
  if (fields.has("ttr_rest")) options.ttr_rest_ns = fields.small("ttr_rest");
  return options;
}

ScheduleProgress parse_progress(DumpObject& fields) {
  ScheduleProgress progress = {.last_planned = fields.nanos("last_planned"),
                               .last_fired = fields.nanos("last_fired"),
                               .last_job = fields.number("last_job"),
                               .fired = fields.number("fired"),
                               .skipped = fields.number("skipped"),
                               .missed = fields.number("missed"),
                               .is_paused = fields.flag("paused")};
  if (fields.has("planned")) progress.planned = fields.nanos("planned");
  const std::optional<ScheduleState> state = schedule_state_of(fields.text("state"));
  if (!state) fields.fail("a schedule is in no such state");
  progress.state = state.value_or(ScheduleState::Over);
  return progress;
}

Schedule parse_definition(DumpObject& fields) {
  Schedule schedule = {.name = fields.text("schedule"),
                       .tube = fields.text("tube"),
                       .when = parse_when(fields),
                       .put = {fields.small("pri"), fields.small("delay"), fields.small("ttr"),
                               fields.small("bytes")},
                       .missed_max = fields.small("missed_max"),
                       .jitter = fields.nanos("jitter")};
  const std::optional<ScheduleOverlap> overlap = overlap_of(fields.text("overlap"));
  if (!overlap) fields.fail("a schedule has no such overlap");
  schedule.overlap = overlap.value_or(ScheduleOverlap::Allow);
  const PutOptions options = parse_options(fields);
  if (options != PutOptions()) schedule.put.options = options;
  return schedule;
}

std::string body_of(DumpObject& fields) {
  const bool is_base64 = fields.has("body_base64");
  if (is_base64 == fields.has("body")) fields.fail("a schedule has no body, or two");
  std::string body = fields.text(is_base64 ? "body_base64" : "body");
  std::string decoded;
  if (!is_base64) return body;
  if (!from_base64(body, decoded)) fields.fail("body_base64 of a schedule is not base64");
  return decoded;
}

std::string_view name_problem(const Schedule& schedule) {
  if (!wire::is_tube_name(schedule.name)) return "its name is not one that a schedule can have";
  if (!wire::is_tube_name(schedule.tube)) return "its tube is no name of a tube";
  if (!schedule.put.options) return {};
  const PutOptions& options = *schedule.put.options;
  if (!options.dead.empty() && !wire::is_tube_name(options.dead)) {
    return "dead is no name of a tube";
  }
  if (options.key && !wire::is_tube_name(options.key->key)) {
    return "idp is not one that a job can have";
  }
  if (options.concurrency && !wire::is_tube_name(options.concurrency->key)) {
    return "con is not one that a job can have";
  }
  return {};
}

}  // namespace

Result<DumpSchedule> parse_schedule(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) return refuse_schedule("it is not whole, or not JSON");
  DumpObject fields(
      value, "a schedule",
      {"schedule", "tube",       "every",        "anchor",     "cron",     "zone",    "at",
       "pri",      "delay",      "ttr",          "tries",      "backoff",  "dead",    "backoff_cap",
       "expire",   "idp",        "idp_ttl",      "idp_until",  "con",      "con_max", "delay_rest",
       "ttr_rest", "state",      "missed_max",   "overlap",    "jitter",   "planned", "paused",
       "fired",    "bytes",      "last_planned", "last_fired", "last_job", "skipped", "missed",
       "body",     "body_base64"});
  if (fields.status().ok() && !says_when_once(fields)) {
    return refuse_schedule("it says not once for when it is");
  }
  DumpSchedule out = {
      .stored = {.schedule = parse_definition(fields), .progress = parse_progress(fields)},
      .body = body_of(fields)};
  if (!fields.status().ok()) return fields.status();
  const Schedule& schedule = *out.stored.schedule;
  for (const std::string_view wrong :
       {store::problem(schedule), name_problem(schedule), store::problem(out.stored.progress)}) {
    if (!wrong.empty()) return refuse_schedule(wrong);
  }
  if (out.body.size() == schedule.put.body_bytes) return out;
  return refuse_schedule(fmt::format("its body has {} bytes, and bytes says {}", out.body.size(),
                                     schedule.put.body_bytes));
}

}  // namespace perennial::tool
