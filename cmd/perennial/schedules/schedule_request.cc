#include "cmd/perennial/schedules/schedule_request.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "cmd/common/calendar/cron.h"
#include "cmd/common/calendar/zone.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "engine/types/reply.h"
#include "wire/arguments.h"
#include "wire/command_line.h"
#include "wire/schedule_text.h"

namespace perennial::tool {
namespace {

constexpr uint32_t default_priority = 1024;
constexpr uint32_t default_ttr_s = 60;
constexpr std::string_view default_tube = "default";

Status bad(std::string why) {
  return {StatusCode::InvalidArgument, std::move(why)};
}

// The same expression, with one space between two fields and none around them.
std::string plain_cron(std::string_view expression) {
  std::string plain;
  constexpr std::string_view blanks = " \t";
  while (true) {
    const size_t begin = expression.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return plain;
    expression.remove_prefix(begin);
    const std::string_view field = expression.substr(0, expression.find_first_of(blanks));
    if (!plain.empty()) plain += ' ';
    plain += field;
    expression.remove_prefix(field.size());
  }
}

}  // namespace

Status check_schedule_name(std::string_view name) {
  if (wire::is_tube_name(name)) return {};
  return bad(
      fmt::format("{:?} is no name of a schedule: 1 to {} letters, digits and -+/;.$_(), "
                  "the first of them no '-'",
                  name, schedule_name_bytes_max));
}

ScheduleRequest::ScheduleRequest(std::string name)
    : command_{.name = std::move(name),
               .priority = default_priority,
               .delay_s = 0,
               .ttr_s = default_ttr_s,
               .body_bytes = 0} {
  // The tube is always said, so that it does not hang on the one that the connection uses.
  command_.options.make().tube = default_tube;
  needed_ = ExtensionSet().with(Extension::Schedules).with(Extension::PutTube);
}

Status ScheduleRequest::set(std::string_view name, const std::string& text) {
  ScheduleOptions& options = command_.options.make();
  if (name == "cron") {
    const Result<calendar::Cron> cron = calendar::Cron::parse(text);
    if (!cron.ok()) return bad(fmt::format("{:?}: {}", text, cron.status().message()));
    options.cron.expression = plain_cron(text);
    return {};
  }
  if (name == "zone") {
    const Result<absl::TimeZone> zone = calendar::find_zone(text);
    if (!zone.ok()) return bad(zone.status().message());
    options.zone = text;
    return {};
  }
  if (name == "pri" || name == "delay" || name == "ttr") return set_number(name, text);
  return set_option(name, text);
}

Status ScheduleRequest::set_number(std::string_view name, std::string_view text) {
  ScheduleOptions& options = command_.options.make();
  const std::string value = protocol_value(name, text);
  std::string_view rest = value;
  const ExtensionSet all = ExtensionSet::all();
  bool is_good = false;
  if (name == "pri") {
    is_good = wire::take(rest, command_.priority);
  } else if (name == "delay") {
    is_good = wire::take_split(rest, all, command_.delay_s, options.delay_rest_ns);
  } else {
    is_good = wire::take_split_ttr(rest, all, command_.ttr_s, options.ttr_rest_ns);
  }
  if (!is_good || !rest.empty() || value.starts_with(' ')) return bad(why_wrong(name, text));
  if (options.delay_rest_ns > 0 || options.ttr_rest_ns > 0)
    needed_ = needed_.with(Extension::Milliseconds);
  return {};
}

Status ScheduleRequest::set_option(std::string_view name, const std::string& text) {
  ScheduleOptions& options = command_.options.make();
  // As stats-schedule tells it where there is none.
  if (name == "jitter" && protocol_value(name, text) == "0") {
    options.jitter = {};
    return {};
  }
  const std::optional<std::string> given = text;
  const Status read = read_options<SetSchedule>({{name, given}}, options, needed_);
  return read.ok() ? Status() : bad(why_wrong(name, text));
}

Status ScheduleRequest::check(std::string_view dashes) const {
  const ScheduleOptions& options = *command_.options;
  const bool is_every = options.every.nanos > 0;
  const bool is_cron = !options.cron.expression.empty();
  const int kinds = int{is_every} + int{is_cron} + int{options.at.has_value()};
  if (kinds != 1) return bad(fmt::format("say when: one of {0}every, {0}cron and {0}at", dashes));
  if (options.anchor && !is_every)
    return bad(fmt::format("{0}anchor goes with {0}every alone", dashes));
  if (!options.zone.empty() && !is_cron)
    return bad(fmt::format("{0}zone goes with {0}cron alone", dashes));
  if (options.until && !options.key) return bad(fmt::format("{0}until needs {0}idp", dashes));
  if (options.until == KeyUntil::Ttl && options.key->seconds == 0)
    return bad(fmt::format("{0}until ttl needs a time: {0}idp KEY:DURATION", dashes));
  return {};
}

ScheduleValues values_of(const SetSchedule& command) {
  ScheduleSeen seen;
  seen.schedule = schedule_of(command, command.options->tube);
  const std::optional<YesOrNo> paused = command.options->paused;
  if (paused) seen.progress.is_paused = paused->value;
  const Result<StatsReply> told = StatsReply::parse(wire::schedule_yaml(seen));
  ScheduleValues values;
  for (const std::string_view name : schedule_value_names) {
    if (name == "paused" && !paused) continue;
    if (name == "anchor" && !command.options->anchor) continue;
    if (const auto text = told->text(name)) values.emplace_back(name, *text);
  }
  return values;
}

std::optional<std::string> told_value(const StatsReply& stats, std::string_view name) {
  const std::optional<std::string_view> text = stats.text(name);
  if (!text) return std::nullopt;
  return name == "cron" ? plain_cron(*text) : std::string(*text);
}

}  // namespace perennial::tool
