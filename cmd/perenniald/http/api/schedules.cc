#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "cmd/common/calendar/zone.h"
#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/body_text.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/options.h"
#include "cmd/perenniald/http/api/row_text.h"
#include "cmd/perenniald/http/api/schedule_view.h"
#include "wire/command_line.h"
#include "wire/time_text.h"

// Schedules: jobs that are put at planned times.
namespace perennial::http {
namespace {

constexpr std::string_view no_schedule = "There is no such schedule.";
constexpr uint64_t times_max = 100;

// A page of schedules in the order of their names, found in steps of so many that are looked at.
class SchedulesPage final : public Answer {
 public:
  struct Asked {
    std::string tube = {};  // Empty: all those that the caller may see.
    std::string after = {};
    uint64_t limit = page_default;
  };
  SchedulesPage(ApiSources& sources, Caller caller, Asked asked)
      : sources_(sources), caller_(std::move(caller)), asked_(std::move(asked)) {}

  Step step() override {
    constexpr size_t looked_at_per_step = 1'000;
    const engine::EngineView engine = sources_.engine();
    const size_t listed_before = listed_;
    for (size_t i = 0; i < looked_at_per_step; ++i) {
      const auto seen = engine.next_schedule(asked_.after);
      is_at_end_ = !seen;
      if (is_at_end_ || listed_ == asked_.limit) return Step::Whole;
      if (listed_ - listed_before == RowText::rows_per_step) return Step::Again;
      const Schedule& schedule = *seen->stored->schedule;
      asked_.after = schedule.name;
      if (!is_wanted(schedule.tube)) continue;
      Json row = schedule_row(*seen, engine);
      row["may"] = may_json(caller_, schedule.tube);
      text_.add(row);
      ++listed_;
    }
    return Step::Again;
  }
  Response take() override {
    return text_.response("schedules", {{"next", is_at_end_ ? Json(nullptr) : Json(asked_.after)}});
  }

 private:
  bool is_wanted(const std::string& tube) const {
    if (!asked_.tube.empty()) return tube == asked_.tube;
    return caller_.may_see_schedules(tube);
  }

  ApiSources& sources_;
  const Caller caller_;
  Asked asked_;  // `after`: the last one that was looked at.
  uint64_t listed_ = 0;
  bool is_at_end_ = false;
  RowText text_;
};

// The queue says NOT_FOUND for one that is not there, or is hidden.
Response refusal_of_schedule(const wire::ClientReply& reply) {
  if (reply.is(Word::NotFound)) return problem_response(Status::NotFound, no_schedule);
  return refusal_of(reply);
}

std::string in_zone(Nanos time, const absl::TimeZone& zone) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3S%Ez", absl::FromUnixNanos(time), zone);
}

}  // namespace

Api::Made Api::schedules(const Ask& ask) {
  Query query(ask.request.query);
  SchedulesPage::Asked asked = {.tube = query.text("tube").value_or(""),
                                .after = query.text("after").value_or(""),
                                .limit = query.number("limit", page_default, 1, page_max)};
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  if (!asked.tube.empty() && !ask.caller.may_see_schedules(asked.tube)) {
    return forbidden(ask, access::Verb::Inspect, asked.tube);
  }
  return std::make_unique<SchedulesPage>(sources_, ask.caller, std::move(asked));
}

// With its body, in one text: a schedule has a small one.
Api::Made Api::schedule(const Ask& ask) {
  const std::string& name = ask.names.front();
  if (Made refusal = refused(ask, StatsSchedule{name}, no_schedule)) return refusal;
  const auto seen = sources_.engine().schedule(name);
  const Body* const body = sources_.schedule_body(name);
  if (!seen || body == nullptr) return not_found(no_schedule);
  Json out = schedule_json(*seen, sources_.engine());
  out["may"] = may_json(ask.caller, seen->stored->schedule->tube);
  std::string text = dumped(out);
  text.pop_back();
  text += ',';
  BodyText member((std::string(body->view())));
  while (!member.add_some(1 << 20, text)) {
  }
  text += "}\n";
  return answer_now(
      {.status = Status::Ok, .content_type = "application/json", .body = std::move(text)});
}

Api::Made Api::set_schedule(const Ask& ask) {
  const std::string& name = ask.names.front();
  if (!wire::is_tube_name(name)) return not_found("There can be no schedule of this name.");
  const Calendar* const calendar = sources_.calendar();
  if (calendar == nullptr) return not_found("This server has no schedules.");
  Fields fields(ask.request);
  SetSchedule set = read_schedule(fields, name, *calendar, sources_.wall());
  std::string body = read_body(fields);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  set.body_bytes = static_cast<uint32_t>(body.size());
  std::string missing = ask.caller.judged(set, sources_.engine()).tube;
  const bool is_new = !sources_.engine().schedule(name);
  return make_command_answer(
      sources_.queue(), ask.caller, {{std::move(set), std::move(body), std::move(missing)}},
      [this, name, is_new](const QueueReplies& replies) {
        if (!replies.front().is(Word::Set)) return refusal_of(replies.front());
        const auto seen = sources_.engine().schedule(name);
        if (!seen) return problem_response(Status::NotFound, no_schedule);  // Deleted meanwhile.
        return json_response(is_new ? Status::Created : Status::Ok,
                             schedule_json(*seen, sources_.engine()));
      });
}

Api::Made Api::delete_schedule(const Ask& ask) {
  const std::string& name = ask.names.front();
  if (!wire::is_tube_name(name)) return not_found(no_schedule);
  return change(
      ask, {{DeleteSchedule{name}}}, Word::Deleted,
      [](const auto&) {
        return Json{{"deleted", true}};
      },
      refusal_of_schedule);
}

Api::Made Api::pause_schedule(const Ask& ask) {
  Fields fields(ask.request);
  const std::optional<bool> paused = fields.yes_or_no("paused");
  if (!paused) fields.add_problem("paused is needed: true or false.");
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::string& name = ask.names.front();
  if (!wire::is_tube_name(name)) return not_found(no_schedule);
  return change(
      ask, {{PauseSchedule{.name = name, .paused = No{!*paused}}}},
      *paused ? Word::Paused : Word::Set,
      [is_paused = *paused](const auto&) {
        return Json{{"paused", is_paused}};
      },
      refusal_of_schedule);
}

Api::Made Api::run_schedule(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::string& name = ask.names.front();
  if (!wire::is_tube_name(name)) return not_found(no_schedule);
  return make_command_answer(sources_.queue(), ask.caller, {{RunSchedule{name}}},
                             [&sources = sources_](const QueueReplies& replies) {
                               const wire::ClientReply& reply = replies.front();
                               if (reply.is(Word::NotFound)) return refusal_of_schedule(reply);
                               if (!reply.is(Word::Inserted))
                                 return refusal_of_put(sources, reply, 1);
                               return inserted_response(reply);
                             });
}

// When a schedule would be due: nothing is set. Nobody is told anything of what there is.
Api::Made Api::schedule_times(const Ask& ask) {
  const Calendar* const calendar = sources_.calendar();
  if (calendar == nullptr) return not_found("This server has no schedules.");
  Fields fields = Fields::of_query(ask.request.query);
  const uint64_t count = fields.number("count", times_max).value_or(10);
  const Nanos wall = sources_.wall();
  std::optional<ScheduleWhen> when = read_when(fields, *calendar, wall);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  if (auto* const every = std::get_if<ScheduleEvery>(&*when); every != nullptr && !every->anchor) {
    every->anchor = wall - wall % nanos_per_second;
  }
  const auto* const cron = std::get_if<ScheduleCron>(&*when);
  const Result<absl::TimeZone> zone =
      calendar::find_zone(cron != nullptr ? cron->zone : std::string(default_zone));
  if (!zone.ok()) return refuse(Status::BadRequest, zone.status().message());
  Json times = Json::array();
  Nanos after = wall;
  while (times.size() < count) {
    const Calendar::Next next = calendar->next_after(*when, after);
    if (!next.at) break;
    after = *next.at;
    times.push_back({{"at", wire::utc_text(after)}, {"local", in_zone(after, *zone)}});
  }
  return answer_with({{"times", std::move(times)}});
}

}  // namespace perennial::http
