#include "cmd/perennial/schedules/file/schedule_changes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/text.h"
#include "cmd/perennial/schedules/schedule_request.h"

namespace perennial::tool {
namespace {

constexpr std::string_view no_value = "-";
constexpr size_t shown_body_bytes_max = 60;

std::string value_or_none(const std::optional<std::string>& value) {
  return value && !value->empty() ? *value : std::string(no_value);
}

std::optional<std::string> wanted_value(const ScheduleValues& values, std::string_view name) {
  const auto found = std::ranges::find(values, name, &ScheduleValues::value_type::first);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

bool is_left_to_server(std::string_view name) {
  return name == "anchor" || name == "paused";
}

bool is_short(const std::string& body) {
  return body.size() <= shown_body_bytes_max && is_utf8(body);
}

// Both bodies, or how long they are.
ChangedValue changed_body(const std::string& before, const std::string& after) {
  if (is_short(before) && is_short(after)) {
    return {
        .name = "body", .before = fmt::format("{:?}", before), .after = fmt::format("{:?}", after)};
  }
  const std::string_view other = before.size() == after.size() ? "other " : "";
  return {.name = "body",
          .before = fmt::format("{} bytes", with_commas(before.size())),
          .after = fmt::format("{} {}bytes", with_commas(after.size()), other)};
}

std::string change_text(const ScheduleChange& change) {
  switch (change.kind) {
    case ScheduleChange::Kind::Add:
      return fmt::format("+ {}\n", change.name);
    case ScheduleChange::Kind::Delete:
      return fmt::format("- {}\n", change.name);
    case ScheduleChange::Kind::Change:
      break;
  }
  std::string text;
  for (const ChangedValue& value : change.values) {
    text += fmt::format("~ {}: {}: {} -> {}\n", change.name, value.name, printable(value.before),
                        printable(value.after));
  }
  return text;
}

}  // namespace

uint64_t ScheduleChanges::count(ScheduleChange::Kind kind) const {
  return static_cast<uint64_t>(std::ranges::count(all, kind, &ScheduleChange::kind));
}

std::vector<ChangedValue> changed_values(const WantedSchedule& wanted, const ToldSchedule& told) {
  const ScheduleValues values = values_of(wanted.command);
  std::vector<ChangedValue> changed;
  for (const std::string_view name : schedule_value_names) {
    const std::optional<std::string> after = wanted_value(values, name);
    const std::optional<std::string> before = told_value(told.stats, name);
    if (before == after || (!after && is_left_to_server(name))) continue;
    changed.push_back({.name = std::string(name),
                       .before = value_or_none(before),
                       .after = value_or_none(after)});
  }
  if (wanted.body != told.body) changed.push_back(changed_body(told.body, wanted.body));
  return changed;
}

ScheduleChanges compare(const std::vector<WantedSchedule>& wanted,
                        const std::vector<std::optional<ToldSchedule>>& told,
                        const std::vector<std::string>& to_delete) {
  ScheduleChanges changes;
  for (size_t at = 0; at < wanted.size(); ++at) {
    const WantedSchedule& one = wanted[at];
    ScheduleChange change = {
        .kind = told[at] ? ScheduleChange::Kind::Change : ScheduleChange::Kind::Add,
        .name = one.command.name,
        .wanted = &one};
    if (told[at]) change.values = changed_values(one, *told[at]);
    if (told[at] && change.values.empty()) {
      ++changes.unchanged;
    } else {
      changes.all.push_back(std::move(change));
    }
  }
  for (const std::string& name : to_delete)
    changes.all.push_back({.kind = ScheduleChange::Kind::Delete, .name = name});
  return changes;
}

std::string changes_text(const ScheduleChanges& changes) {
  std::string text;
  for (const ScheduleChange& change : changes.all) text += change_text(change);
  return text + fmt::format("= {} unchanged\n", with_commas(changes.unchanged));
}

}  // namespace perennial::tool
