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
  bool is_seconds = false;
};
constexpr std::array tube_values = {
    TubeRow{"oldest", "next-ready-age", "oldest ready job", &Limits::oldest, true},
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

std::string value_text(uint64_t value, bool is_seconds) {
  return is_seconds ? duration_text(value) : with_commas(value);
}

// Adds a problem if the value is above a limit.
void hold_against(const Measure& measure, const std::string& what, ServerHealth& verdict) {
  const auto above = [&](const std::optional<uint64_t>& limit, Level level) {
    if (!limit || measure.value <= *limit) return false;
    verdict.add(level,
                fmt::format("{} {}, above {}", what, value_text(measure.value, measure.is_seconds),
                            value_text(*limit, measure.is_seconds)));
    return true;
  };
  if (!above(measure.limits.critical, Level::Critical))
    above(measure.limits.warning, Level::Warning);
}

void judge_tubes(const TubeRow& row, const std::vector<StatsReply>& tubes, const Limits& limits,
                 ServerHealth& verdict) {
  const std::optional<Thresholds>& given = limits.*row.limits;
  Measure worst = {.name = row.name, .is_seconds = row.is_seconds};
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
    Measure measure = {.name = "checkpoint_age", .value = *age, .is_seconds = true};
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

std::string limit_text(const std::optional<uint64_t>& limit) {
  return limit ? fmt::format("{}", *limit) : "";
}

std::string performance_data(const ServerHealth& verdict) {
  std::vector<std::string> values;
  for (const Measure& measure : verdict.measures) {
    std::string value =
        fmt::format("{}={}{};{};{}", measure.name, measure.value, measure.is_seconds ? "s" : "",
                    limit_text(measure.limits.warning), limit_text(measure.limits.critical));
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
  for (const TubeRow& row : tube_values) judge_tubes(row, tubes, limits, verdict);
  judge_damage(stats, limits, verdict);
  judge_checkpoints(stats, limits, verdict);
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
             {"unit", measure.is_seconds ? "s" : ""},
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
