// The part of Core that serves schedules: what must be known before the engine is asked, their
// bodies, and what is shown of them.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "cmd/perenniald/access/rules.h"
#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

// A Tick comes at least so often while there are schedules, because the wall clock may be set.
constexpr Nanos wall_looked_at_every = nanos_per_second;

}  // namespace

Nanos Core::wall(Nanos now) const {
  return options_.wall ? options_.wall() : now;
}

std::optional<Nanos> Core::next_look_at_wall() const {
  if (engine_.view().schedule_counts().schedules == 0) return std::nullopt;
  return ticked_at_ + wall_looked_at_every;
}

void Core::restore_schedule_body(const std::string& name, Body body) {
  schedule_bodies_.set(name, std::move(body), 0);
}

bool Core::serve_schedules(BeanstalkSession& conn, const Command& command, Nanos now) {
  if (const auto* const set = std::get_if<SetSchedule>(&command)) {
    const std::optional<Word> refusal = refusal_of(*set, conn.id, now);
    if (refusal) reply_to(conn, *refusal);
    return refusal.has_value();
  }
  if (std::holds_alternative<RunSchedule>(command) && !schedules_allowed_) {
    reply_to(conn, Word::Denied);
  } else if (const auto* const list = std::get_if<ListSchedules>(&command)) {
    reply_to(conn, list_schedules(conn, *list));
  } else if (const auto* const stats = std::get_if<StatsSchedule>(&command)) {
    const auto seen = engine_.view().schedule(stats->name);
    if (!seen) {
      reply_to(conn, Word::NotFound);
    } else {
      reply_to(conn, std::make_unique<ScheduleSeen>(show_schedule(*seen)));
    }
  } else if (const auto* const peek = std::get_if<PeekSchedule>(&command)) {
    const Body* const body = schedule_bodies_.find(peek->name);
    if (body == nullptr) {
      reply_to(conn, Word::NotFound);
    } else {
      run_budget_.spend_on_answer(body->size());
      reply_to(conn, std::make_unique<ScheduleBody>(ScheduleBody{body->share()}));
    }
  } else {
    return false;
  }
  return true;
}

// Times that no calendar has are the client's mistake, and must not reach the engine, for which
// they would be times that are over.
std::optional<Word> Core::refusal_of(const SetSchedule& set, ConnId conn, Nanos now) const {
  if (!schedules_allowed_) return Word::Denied;
  if (options_.engine.calendar == nullptr) return std::nullopt;
  const Schedule schedule = schedule_of(set, engine_.view().used_tube(conn));
  if (!std::holds_alternative<ScheduleCron>(schedule.when)) return std::nullopt;
  const Calendar::Next next = options_.engine.calendar->next_after(schedule.when, wall(now));
  return next.zone_is_known && next.at ? std::nullopt : std::optional(Word::BadFormat);
}

ScheduleSeen Core::show_schedule(const engine::EngineView::SeenSchedule& seen) const {
  const ScheduleProgress& progress = seen.stored->progress;
  return {.schedule = *seen.stored->schedule,
          .progress = progress,
          .offset = seen.offset,
          .refusal = seen.refusal,
          .last_job_state = engine_.view().state_of_job(progress.last_job)};
}

// All that are passed over are looked at for each page.
std::unique_ptr<ScheduleList> Core::list_schedules(const BeanstalkSession& conn,
                                                   const ListSchedules& asked) {
  auto list = std::make_unique<ScheduleList>();
  const access::User* const user = conn.access ? conn.access->user : nullptr;
  const engine::EngineView engine = engine_.view();
  std::string name = asked.after;
  uint64_t looked_at = 0;
  for (auto seen = engine.next_schedule(name); seen; seen = engine.next_schedule(name)) {
    const Schedule& schedule = *seen->stored->schedule;
    if (list->schedules.size() == asked.count.value || looked_at == list_scan_max) {
      list->cursor = name;
      break;
    }
    ++looked_at;
    name = schedule.name;
    if (user != nullptr && !access::may_see_schedules(*user, schedule.tube)) continue;
    list->schedules.push_back(show_schedule(*seen));
  }
  run_budget_.spend(looked_at);
  return list;
}

std::string_view Core::body_of_schedule_job(const JobMoved& moved, const std::string& schedule) {
  const Body* const body = schedule_bodies_.find(schedule);
  CHECK(body != nullptr);
  return bodies_.insert(moved.id, body->share(), batches_.open_index());
}

}  // namespace perennial::core
