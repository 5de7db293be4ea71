#include "cmd/perennial/monitor/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

// What is looked at in every tube.
struct TubeRow {
  const char* name;
  const char* key;
  const char* what;  // Of the value in a message: "oldest ready job 12 min".
  std::optional<Thresholds> Limits::*limits;
  Measure::Unit unit = Measure::Unit::Count;
};
constexpr std::array tube_values = {
    TubeRow{"oldest", "next-ready-age", "oldest ready job", &Limits::oldest,
            Measure::Unit::Seconds},
    TubeRow{"ready", "current-jobs-ready", "ready jobs", &Limits::ready},
    TubeRow{"buried", "current-jobs-buried", "buried jobs", &Limits::buried},
    TubeRow{"dead", "jobs-dead", "dead jobs since the server's start", &Limits::dead},
};

std::string_view name_of(Level level) {
  constexpr std::array<std::string_view, 4> names = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  return names[static_cast<size_t>(level)];
}

// Whoever is called for CRITICAL need not know what else is not known.
int rank_of(Level level) {
  constexpr std::array<int, 4> ranks = {0, 1, 3, 2};
  return ranks[static_cast<size_t>(level)];
}

std::string value_text(uint64_t value, Measure::Unit unit) {
  switch (unit) {
    case Measure::Unit::Count:
      return with_commas(value);
    case Measure::Unit::Seconds:
      return duration_text(value);
    case Measure::Unit::Bytes:
      return size_text(value);
  }
  return {};
}

std::string_view unit_text(Measure::Unit unit) {
  constexpr std::array<std::string_view, 3> units = {"", "s", "B"};
  return units[static_cast<size_t>(unit)];
}

// Adds a problem if the value is beyond a limit.
void hold_against(const Measure& measure, const std::string& what, ServerHealth& verdict) {
  const auto beyond = [&](const std::optional<uint64_t>& limit, Level level) {
    if (!limit) return false;
    if (measure.is_low ? measure.value >= *limit : measure.value <= *limit) return false;
    verdict.add(level,
                fmt::format("{} {}, {} {}", what, value_text(measure.value, measure.unit),
                            measure.is_low ? "below" : "above", value_text(*limit, measure.unit)));
    return true;
  };
  if (!beyond(measure.limits.critical, Level::Critical))
    beyond(measure.limits.warning, Level::Warning);
}

void judge_tubes(const TubeRow& row, const std::vector<StatsReply>& tubes, const Limits& limits,
                 ServerHealth& verdict) {
  const std::optional<Thresholds>& given = limits.*row.limits;
  Measure worst = {.name = row.name, .unit = row.unit};
  if (given) worst.limits = *given;
  bool is_known = tubes.empty();
  for (const StatsReply& tube : tubes) {
    const std::optional<uint64_t> value = tube.number(row.key);
    is_known |= value.has_value();
    if (value.value_or(0) <= worst.value) continue;
    worst.value = *value;
    worst.tube = tube.text("name").value_or("?");
  }
  if (!is_known) {
    if (given) verdict.add(Level::Unknown, fmt::format("the server does not say '{}'", row.key));
    return;
  }
  hold_against(worst, fmt::format("tube '{}': {}", worst.tube, row.what), verdict);
  verdict.measures.push_back(std::move(worst));
}

void judge_damage(const StatsReply& stats, const Limits& limits, ServerHealth& verdict) {
  const std::optional<uint64_t> damaged = stats.number("jobs-damaged");
  if (!damaged) return;
  Measure measure = {.name = "damaged", .value = *damaged};
  if (limits.damaged) measure.limits = *limits.damaged;
  hold_against(measure, "damaged jobs", verdict);
  verdict.measures.push_back(std::move(measure));
}

void judge_checkpoints(const StatsReply& stats, const Limits& limits, ServerHealth& verdict) {
  const std::optional<std::string_view> text = stats.text("checkpoint-age");
  const std::optional<uint64_t> age = stats.number("checkpoint-age");
  if (age) {
    Measure measure = {.name = "checkpoint_age", .value = *age, .unit = Measure::Unit::Seconds};
    if (limits.checkpoint_age) measure.limits = *limits.checkpoint_age;
    hold_against(measure, "last checkpoint ago", verdict);
    verdict.measures.push_back(std::move(measure));
    return;
  }
  if (!limits.checkpoint_age) return;
  if (text) {
    verdict.add(limits.checkpoint_age->critical ? Level::Critical : Level::Warning,
                "there is no checkpoint");
  } else {
    verdict.add(Level::Unknown, "the server does not say 'checkpoint-age'");
  }
}

void judge_disk(const StatsReply& stats, const Limits& limits, ServerHealth& verdict) {
  const std::optional<uint64_t> free = stats.number("disk-free-bytes");
  if (!free) {
    if (limits.disk_free) verdict.add(Level::Unknown, "the server does not say 'disk-free-bytes'");
    return;
  }
  Measure measure = {
      .name = "disk_free", .value = *free, .unit = Measure::Unit::Bytes, .is_low = true};
  if (limits.disk_free) measure.limits = *limits.disk_free;
  hold_against(measure, "free on the disk", verdict);
  verdict.measures.push_back(std::move(measure));
}

// Only the leader knows how far the standbys are.
void judge_standbys(const StatsReply& stats, const Limits& limits, ServerHealth& verdict) {
  const std::optional<uint64_t> lag = stats.number("cluster-standby-lag");
  if (!lag || stats.text("cluster-role") != "leader") {
    if (limits.standby_lag)
      verdict.add(Level::Unknown, "the server is no leader of a cluster, so it knows no standbys");
    return;
  }
  if (limits.standby_lag && stats.count("cluster-standbys") == 0) {
    verdict.add(limits.standby_lag->warning ? Level::Warning : Level::Critical,
                "no standby follows: nobody could take over");
  }
  Measure measure = {.name = "standby_lag", .value = *lag};
  if (limits.standby_lag) measure.limits = *limits.standby_lag;
  hold_against(measure, "entries that a standby is behind:", verdict);
  verdict.measures.push_back(std::move(measure));
}

std::string summary_of(const StatsReply& stats, const ServerHealth& verdict) {
  std::string out = fmt::format("{} jobs ready, {} reserved, {} delayed, {} buried",
                                with_commas(stats.count("current-jobs-ready")),
                                with_commas(stats.count("current-jobs-reserved")),
                                with_commas(stats.count("current-jobs-delayed")),
                                with_commas(stats.count("current-jobs-buried")));
  const auto oldest = std::ranges::find(verdict.measures, "oldest", &Measure::name);
  if (oldest != verdict.measures.end() && !oldest->tube.empty()) {
    out += fmt::format(", the oldest ready one for {} in '{}'", duration_text(oldest->value),
                       oldest->tube);
  }
  return out;
}

// As Nagios's plugins write a range: "5:" is reported below 5, and "5" above it.
std::string limit_text(const std::optional<uint64_t>& limit, bool is_low) {
  return limit ? fmt::format("{}{}", *limit, is_low ? ":" : "") : "";
}

std::string performance_data(const ServerHealth& verdict) {
  std::vector<std::string> values;
  for (const Measure& measure : verdict.measures) {
    std::string value =
        fmt::format("{}={}{};{};{}", measure.name, measure.value, unit_text(measure.unit),
                    limit_text(measure.limits.warning, measure.is_low),
                    limit_text(measure.limits.critical, measure.is_low));
    value.resize(value.find_last_not_of(';') + 1);
    values.push_back(std::move(value));
  }
  return fmt::format("{}", fmt::join(values, " "));
}

nlohmann::ordered_json limit_json(const std::optional<uint64_t>& limit) {
  return limit ? nlohmann::ordered_json(*limit) : nlohmann::ordered_json(nullptr);
}

}  // namespace

void ServerHealth::add(Level of, std::string what) {
  if (rank_of(of) > rank_of(level)) level = of;
  const auto is_less = [of](const Problem& one) { return rank_of(one.level) < rank_of(of); };
  problems.insert(std::ranges::find_if(problems, is_less), {of, std::move(what)});
}

ServerHealth no_verdict(Level level, std::string why) {
  ServerHealth verdict;
  verdict.add(level, std::move(why));
  return verdict;
}

ServerHealth judge(const StatsReply& stats, const std::vector<StatsReply>& tubes,
                   const std::vector<std::string>& wanted, const Limits& limits) {
  ServerHealth verdict;
  if (!stats.number("current-jobs-ready"))
    return no_verdict(Level::Unknown, "the server does not say 'current-jobs-ready'");
  const std::string_view state = stats.text("store-state").value_or("ok");
  if (state != "ok") verdict.add(Level::Critical, fmt::format("store-state is '{}'", state));
  if (stats.text("draining") == "true")
    verdict.add(Level::Warning, "the server is draining: it takes no more jobs");
  if (const uint64_t refused = stats.count("schedules-refused"); refused > 0)
    verdict.add(Level::Warning, fmt::format("schedules whose put is refused: {}", refused));
  for (const TubeRow& row : tube_values) judge_tubes(row, tubes, limits, verdict);
  judge_damage(stats, limits, verdict);
  judge_checkpoints(stats, limits, verdict);
  judge_disk(stats, limits, verdict);
  judge_standbys(stats, limits, verdict);
  verdict.summary = summary_of(stats, verdict);
  for (const std::string& name : wanted) {
    const auto is_it = [&name](const StatsReply& tube) { return tube.text("name") == name; };
    if (std::ranges::any_of(tubes, is_it)) continue;
    verdict.summary += fmt::format(", no tube '{}' now", name);
  }
  return verdict;
}

std::string verdict_line(const ServerHealth& verdict) {
  std::vector<std::string> problems;
  for (const Problem& problem : verdict.problems) problems.push_back(problem.what);
  std::string text =
      printable(problems.empty() ? verdict.summary : fmt::format("{}", fmt::join(problems, "; ")));
  std::ranges::replace(text, '|', '/');  // What is behind it is performance data.
  std::ranges::replace(text, '\n', ' ');
  std::string line = fmt::format("PERENNIAL {} - {}", name_of(verdict.level), text);
  if (!verdict.measures.empty()) line += " | " + performance_data(verdict);
  return line + "\n";
}

std::string verdict_json(const ServerHealth& verdict, const std::string& server) {
  using Json = nlohmann::ordered_json;
  Json problems = Json::array();
  for (const Problem& problem : verdict.problems)
    problems.push_back({{"state", name_of(problem.level)}, {"what", problem.what}});
  Json measures = Json::object();
  for (const Measure& measure : verdict.measures) {
    Json& value = measures[measure.name];
    value = {{"value", measure.value},
             {"unit", unit_text(measure.unit)},
             {"warning", limit_json(measure.limits.warning)},
             {"critical", limit_json(measure.limits.critical)}};
    if (!measure.tube.empty()) value["tube"] = measure.tube;
  }
  const Json out = {{"state", name_of(verdict.level)},
                    {"exit_code", static_cast<int>(verdict.level)},
                    {"server", server},
                    {"summary", verdict.summary},
                    {"problems", problems},
                    {"measures", measures}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace perennial::tool
