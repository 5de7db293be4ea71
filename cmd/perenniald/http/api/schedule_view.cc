#include "cmd/perenniald/http/api/schedule_view.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "cmd/common/calendar/cron.h"
#include "cmd/perenniald/http/api/options.h"
#include "cmd/perenniald/http/api/protocol_value.h"
#include "engine/types/later.h"
#include "wire/job_line.h"
#include "wire/schedule_text.h"
#include "wire/time_text.h"

namespace perennial::http {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

void add_when(Json& out, const ScheduleWhen& when) {
  for (const char* const name : {"every_seconds", "anchor", "cron", "zone", "at"}) {
    out[name] = nullptr;
  }
  if (const auto* const every = std::get_if<ScheduleEvery>(&when)) {
    out["every_seconds"] = in_seconds(every->period);
    out["anchor"] = wire::utc_text(every->anchor.value_or(0));
  } else if (const auto* const cron = std::get_if<ScheduleCron>(&when)) {
    out["cron"] = cron->expression;
    out["zone"] = cron->zone;
  } else {
    out["at"] = wire::utc_text(std::get<ScheduleAt>(when).time);
  }
}

Json next_json(const std::optional<Nanos>& planned, Nanos offset) {
  return planned ? Json(wire::utc_text(later(*planned, offset))) : Json(nullptr);
}

std::optional<TimeOption> moment(Fields& fields, const std::string& name) {
  return protocol_value<TimeOption>(fields, name,
                                    "a time such as 2026-12-24T18:00:00+01:00, from 1970 to 2262");
}

// What is wrong with the times, as the calendar sees them. Empty: nothing.
std::string problem_of(const ScheduleCron& cron, const Calendar& calendar, Nanos wall) {
  const Result<calendar::Cron> parsed = calendar::Cron::parse(cron.expression);
  if (!parsed.ok()) return "cron: " + parsed.status().message() + ".";
  const Calendar::Next next = calendar.next_after(cron, wall);
  if (!next.zone_is_known) return fmt::format("The server has no time zone '{}'.", cron.zone);
  return next.at ? "" : "cron: there is no such time.";
}

}  // namespace

Json schedule_row(const engine::EngineView::SeenSchedule& seen, const engine::EngineView& engine) {
  const Schedule& schedule = *seen.stored->schedule;
  const ScheduleProgress& progress = seen.stored->progress;
  Json out = {{"name", schedule.name}, {"tube", schedule.tube}};
  add_when(out, schedule.when);
  const std::optional<JobState> last = engine.state_of_job(progress.last_job);
  out["state"] = wire::state_text(progress);
  out["paused"] = progress.is_paused;
  out["refused"] = seen.refusal.has_value();
  out["refused_because"] = seen.refusal ? Json(name_of(*seen.refusal)) : Json(nullptr);
  out["planned"] = next_json(progress.planned, 0);
  out["next"] = next_json(progress.planned, seen.offset);
  out["last_planned"] = time_json(progress.last_planned);
  out["last_fired"] = time_json(progress.last_fired);
  out["last_job"] =
      progress.last_job == 0 ? Json(nullptr) : Json(fmt::format("{}", progress.last_job));
  out["last_job_state"] = last ? Json(state_name(*last)) : Json(nullptr);
  out["fired"] = progress.fired;
  out["skipped"] = progress.skipped;
  out["missed_times"] = progress.missed;
  return out;
}

Json schedule_json(const engine::EngineView::SeenSchedule& seen, const engine::EngineView& engine) {
  const Schedule& schedule = *seen.stored->schedule;
  const Put& put = schedule.put;
  const PutOptions none;
  const PutOptions& options = put.options ? *put.options : none;
  Json out = schedule_row(seen, engine);
  out["priority"] = put.priority;
  out["delay_seconds"] = in_seconds(Nanos{put.delay_s} * nanos_per_second + options.delay_rest_ns);
  out["ttr_seconds"] = in_seconds(Nanos{put.ttr_s} * nanos_per_second + options.ttr_rest_ns);
  out["tries"] = options.tries ? Json(options.tries->value) : Json(nullptr);
  out["backoff"] = text_or_null(wire::backoff_text(options.backoff));
  out["dead"] = text_or_null(options.dead);
  out["expire_seconds"] =
      options.expire.nanos > 0 ? Json(in_seconds(options.expire.nanos)) : Json(nullptr);
  out["key"] = options.key ? Json(options.key->key) : Json(nullptr);
  out["key_seconds"] = options.key ? Json(options.key->seconds) : Json(nullptr);
  out["key_until"] = options.until ? Json(key_until_rows[static_cast<size_t>(*options.until)].name)
                                   : Json(nullptr);
  out["concurrency"] =
      options.concurrency
          ? Json(fmt::format("{}:{}", options.concurrency->key, options.concurrency->jobs_max))
          : Json(nullptr);
  out["missed"] = wire::missed_text(schedule.missed_max);
  out["overlap"] = schedule_overlap_rows[static_cast<size_t>(schedule.overlap)].name;
  out["jitter_seconds"] = in_seconds(schedule.jitter);
  out["bytes"] = put.body_bytes;
  return out;
}

std::optional<ScheduleWhen> read_when(Fields& fields, const Calendar& calendar, Nanos wall) {
  const std::optional<Nanos> every = fields.seconds("every_seconds");
  const std::optional<TimeOption> anchor = moment(fields, "anchor");
  const std::optional<std::string> cron = fields.text("cron");
  const std::optional<std::string> zone = fields.text("zone");
  const std::optional<TimeOption> at = moment(fields, "at");
  if (int{every.has_value()} + int{cron.has_value()} + int{at.has_value()} != 1) {
    fields.add_problem("One of every_seconds, cron and at is needed.");
    return std::nullopt;
  }
  if (anchor && !every) fields.add_problem("anchor belongs to every_seconds.");
  if (zone && !cron) fields.add_problem("zone belongs to cron.");
  if (every) {
    if (*every < schedule_period_min) fields.add_problem("every_seconds must be 1 or more.");
    ScheduleEvery read = {.period = *every};
    if (anchor) read.anchor = anchor->time;
    return read;
  }
  if (at) return ScheduleAt{at->time};
  ScheduleCron read = {.expression = *cron, .zone = zone.value_or(std::string(default_zone))};
  if (const std::string problem = problem_of(read, calendar, wall); !problem.empty()) {
    fields.add_problem(problem);
  }
  return read;
}

SetSchedule read_schedule(Fields& fields, const std::string& name, const Calendar& calendar,
                          Nanos wall) {
  Put put = read_put(fields);
  std::string tube = std::exchange(put.options->tube, {});
  const auto missed = protocol_value<MissedOption>(
      fields, "missed",
      fmt::format("\"none\", \"one\", \"all\", or a number up to {} as a text", missed_most));
  const auto overlap = protocol_value<ScheduleOverlap>(fields, "overlap", "allow, skip or replace");
  Schedule schedule = {.name = name,
                       .tube = std::move(tube),
                       .when = read_when(fields, calendar, wall).value_or(ScheduleAt{}),
                       .put = std::move(put),
                       .missed_max = missed.value_or(MissedOption()).jobs,
                       .overlap = overlap.value_or(ScheduleOverlap::Allow),
                       .jitter = fields.seconds("jitter_seconds").value_or(0)};
  return set_schedule(schedule, fields.yes_or_no("paused"));
}

}  // namespace perennial::http
