#include "wire/schedule_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "engine/types/later.h"
#include "wire/job_line.h"
#include "wire/time_text.h"
#include "wire/yaml_text.h"

namespace perennial::wire {
namespace {

// "every: 60, anchor: ..." and so on, each part as a key of a mapping with `between` behind it.
std::string when_text(const ScheduleWhen& when, std::string_view between) {
  if (const auto* const every = std::get_if<ScheduleEvery>(&when)) {
    return fmt::format("every: {}{}anchor: \"{}\"", duration_text(every->period), between,
                       utc_text(every->anchor.value_or(0)));
  }
  if (const auto* const cron = std::get_if<ScheduleCron>(&when)) {
    return fmt::format("cron: {}{}zone: \"{}\"", yaml_text(cron->expression), between, cron->zone);
  }
  return fmt::format("at: \"{}\"", utc_text(std::get<ScheduleAt>(when).time));
}

std::string next_text(const std::optional<Nanos>& planned, Nanos offset) {
  return planned ? utc_text(later(*planned, offset)) : std::string();
}

std::string_view overlap_text(ScheduleOverlap overlap) {
  return schedule_overlap_rows[static_cast<size_t>(overlap)].name;
}

std::string_view last_state_text(const ScheduleSeen& seen) {
  return seen.last_job_state ? state_name(*seen.last_job_state) : std::string_view();
}

void append_put(std::string& out, const Put& put) {
  const PutOptions none;
  const PutOptions& options = put.options ? *put.options : none;
  const Nanos delay = Nanos{put.delay_s} * nanos_per_second + options.delay_rest_ns;
  const Nanos ttr = Nanos{put.ttr_s} * nanos_per_second + options.ttr_rest_ns;
  const auto add = std::back_inserter(out);
  fmt::format_to(add, "pri: {}\ndelay: {}\nttr: {}\nbytes: {}\n", put.priority,
                 duration_text(delay), duration_text(ttr), put.body_bytes);
  if (options.tries) fmt::format_to(add, "tries: {}\n", options.tries->value);
  if (options.backoff) fmt::format_to(add, "backoff: \"{}\"\n", backoff_text(options.backoff));
  if (!options.dead.empty()) fmt::format_to(add, "dead: \"{}\"\n", options.dead);
  if (options.expire.nanos > 0) {
    fmt::format_to(add, "expire: {}\n", duration_text(options.expire.nanos));
  }
  if (options.key) {
    const std::string seconds =
        options.key->seconds > 0 ? fmt::format(":{}", options.key->seconds) : "";
    fmt::format_to(add, "idp: \"{}{}\"\n", options.key->key, seconds);
  }
  if (options.until) {
    fmt::format_to(add, "until: {}\n", key_until_rows[static_cast<size_t>(*options.until)].name);
  }
  if (options.concurrency) {
    fmt::format_to(add, "con: \"{}:{}\"\n", options.concurrency->key,
                   options.concurrency->jobs_max);
  }
}

// Empty: it is not.
std::string_view refusal_text(const ScheduleSeen& seen) {
  return seen.refusal ? name_of(*seen.refusal) : "";
}

}  // namespace

std::string missed_text(uint32_t missed_max) {
  const auto row = std::ranges::find(missed_rows, missed_max, &MissedRow::jobs);
  return row != missed_rows.end() ? std::string(row->name) : fmt::format("{}", missed_max);
}

std::string_view state_text(const ScheduleProgress& progress) {
  switch (progress.state) {
    case ScheduleState::NoZone:
      return "no-zone";
    case ScheduleState::Over:
      return "over";
    case ScheduleState::Active:
      break;
  }
  return progress.is_paused ? "paused" : "active";
}

std::string schedule_yaml(const ScheduleSeen& seen) {
  const Schedule& schedule = seen.schedule;
  const ScheduleProgress& progress = seen.progress;
  std::string out = fmt::format("---\nname: \"{}\"\ntube: \"{}\"\n{}\n", schedule.name,
                                schedule.tube, when_text(schedule.when, "\n"));
  append_put(out, schedule.put);
  fmt::format_to(std::back_inserter(out),
                 "missed: {}\noverlap: {}\njitter: {}\npaused: {}\nstate: {}\nrefused: {}\n"
                 "refused-because: \"{}\"\nplanned: \"{}\"\nnext: \"{}\"\n"
                 "last-planned: \"{}\"\nlast-fired: \"{}\"\nlast-job: {}\n"
                 "last-job-state: \"{}\"\nfired: {}\nskipped: {}\nmissed-times: {}\n",
                 missed_text(schedule.missed_max), overlap_text(schedule.overlap),
                 duration_text(schedule.jitter), progress.is_paused, state_text(progress),
                 seen.refusal.has_value(), refusal_text(seen), next_text(progress.planned, 0),
                 next_text(progress.planned, seen.offset), utc_text_if_known(progress.last_planned),
                 utc_text_if_known(progress.last_fired), progress.last_job, last_state_text(seen),
                 progress.fired, progress.skipped, progress.missed);
  return out;
}

std::string schedules_yaml(const ScheduleList& list) {
  std::string out = fmt::format("---\ncursor: \"{}\"\nschedules:", list.cursor);
  out += list.schedules.empty() ? " []\n" : "\n";
  for (const ScheduleSeen& seen : list.schedules) {
    const ScheduleProgress& progress = seen.progress;
    fmt::format_to(
        std::back_inserter(out),
        "- {{name: \"{}\", tube: \"{}\", {}, state: {}, refused: {}, refused-because: \"{}\", "
        "next: \"{}\", last-planned: \"{}\", last-fired: \"{}\", last-job: {}, "
        "last-job-state: \"{}\", fired: {}, skipped: {}, missed-times: {}}}\n",
        seen.schedule.name, seen.schedule.tube, when_text(seen.schedule.when, ", "),
        state_text(progress), seen.refusal.has_value(), refusal_text(seen),
        next_text(progress.planned, seen.offset), utc_text_if_known(progress.last_planned),
        utc_text_if_known(progress.last_fired), progress.last_job, last_state_text(seen),
        progress.fired, progress.skipped, progress.missed);
  }
  return out;
}

}  // namespace perennial::wire
