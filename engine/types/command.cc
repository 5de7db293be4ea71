#include "engine/types/command.h"

#include <utility>
#include <variant>

#include "engine/types/check.h"

namespace perennial {
namespace {

// Options and settings hold the same values, some of them in types of their own.
uint32_t plain(const TriesOption& tries) {
  return static_cast<uint32_t>(tries.value);
}
uint32_t plain(const CountOption& count) {
  return static_cast<uint32_t>(count.value);
}
Nanos plain(const PositiveDuration& duration) {
  return duration.nanos;
}
bool plain(const YesOrNo& answer) {
  return answer.value;
}
const auto& plain(const auto& value) {
  return value;
}

template <typename Option, typename Setting>
void apply(const Change<Option>& change, std::optional<Setting>& setting) {
  if (!change.given) return;
  setting.reset();
  if (change.value) setting.emplace(plain(*change.value));
}

}  // namespace

void change_settings(TubeSettings& settings, const SetTube& set) {
  apply(set.tries, settings.tries);
  apply(set.backoff, settings.backoff);
  apply(set.dead, settings.dead);
  apply(set.expire, settings.expire);
  apply(set.reserved, settings.reserved);
  apply(set.rate, settings.rate);
  apply(set.drain, settings.drain);
  apply(set.keep, settings.keep);
  apply(set.keep_max, settings.keep_max);
}

Schedule schedule_of(const SetSchedule& set, const std::string& used) {
  CHECK(set.options);
  const ScheduleOptions& options = *set.options;
  Schedule schedule = {.name = set.name,
                       .tube = options.tube.empty() ? used : options.tube,
                       .put = {.priority = set.priority,
                               .delay_s = set.delay_s,
                               .ttr_s = set.ttr_s,
                               .body_bytes = set.body_bytes},
                       .missed_max = options.missed.jobs,
                       .overlap = options.overlap,
                       .jitter = options.jitter.nanos};
  if (options.every.nanos > 0) {
    ScheduleEvery every = {.period = options.every.nanos};
    if (options.anchor) every.anchor = options.anchor->time;
    schedule.when = every;
  } else if (!options.cron.expression.empty()) {
    schedule.when =
        ScheduleCron{.expression = options.cron.expression,
                     .zone = options.zone.empty() ? std::string(default_zone) : options.zone};
  } else {
    schedule.when = ScheduleAt{options.at.value().time};
  }
  PutOptions put = options;
  put.tube.clear();
  if (put != PutOptions()) schedule.put.options.make() = std::move(put);
  return schedule;
}

SetSchedule set_schedule(const Schedule& schedule, std::optional<bool> is_paused) {
  SetSchedule set = {.name = schedule.name,
                     .priority = schedule.put.priority,
                     .delay_s = schedule.put.delay_s,
                     .ttr_s = schedule.put.ttr_s,
                     .body_bytes = schedule.put.body_bytes};
  ScheduleOptions& options = set.options.make();
  if (schedule.put.options) static_cast<PutOptions&>(options) = *schedule.put.options;
  options.tube = schedule.tube;
  if (const auto* const every = std::get_if<ScheduleEvery>(&schedule.when)) {
    options.every.nanos = every->period;
    if (every->anchor) options.anchor = TimeOption{*every->anchor};
  } else if (const auto* const cron = std::get_if<ScheduleCron>(&schedule.when)) {
    options.cron.expression = cron->expression;
    options.zone = cron->zone;
  } else {
    options.at = TimeOption{std::get<ScheduleAt>(schedule.when).time};
  }
  options.missed.jobs = schedule.missed_max;
  options.overlap = schedule.overlap;
  options.jitter.nanos = schedule.jitter;
  if (is_paused) options.paused = YesOrNo{*is_paused};
  return set;
}

SetTube set_tube(std::string tube, const TubeSettings& settings) {
  SetTube set{.tube = std::move(tube)};
  if (settings.tries) set.tries = {true, TriesOption{*settings.tries}};
  if (settings.backoff) set.backoff = {true, settings.backoff};
  if (settings.dead) set.dead = {true, settings.dead};
  if (settings.expire) set.expire = {true, PositiveDuration{{*settings.expire}}};
  if (settings.reserved) set.reserved = {true, CountOption{*settings.reserved}};
  if (settings.rate) set.rate = {true, settings.rate};
  if (settings.drain) set.drain = {true, YesOrNo{*settings.drain}};
  if (settings.keep) set.keep = {true, PositiveDuration{{*settings.keep}}};
  if (settings.keep_max) set.keep_max = {true, CountOption{*settings.keep_max}};
  return set;
}

SetTube replace_settings(std::string tube, const TubeSettings& settings) {
  SetTube set = set_tube(std::move(tube), settings);
  const auto take_away = [](auto&... changes) { ((changes.given = true), ...); };
  take_away(set.tries, set.backoff, set.dead, set.expire, set.reserved, set.rate, set.drain,
            set.keep, set.keep_max);
  return set;
}

}  // namespace perennial
