#include <algorithm>

#include <fmt/format.h>

#include "cmd/perennial-bench/report/budgets.h"
#include "cmd/perennial-bench/report/numbers.h"
#include "cmd/perennial-bench/report/text_table.h"

namespace perennial::bench {
namespace {

// The result of one budget. `problem` says why it cannot be checked.
struct Verdict {
  enum class Kind : uint8_t { Met, Missed, NotRun, Unclear };
  Kind kind = Kind::NotRun;
  std::string problem = {};
  std::string ours = "-";
  std::string theirs = "-";
  std::optional<double> ratio = {};
  std::string limit = {};  // The bound of a value, with its unit.
};

// The measurement of a budget. None if it was not run, or if several match.
struct Found {
  const Measurement* measurement = nullptr;
  std::string problem = {};
};

bool matches(const std::optional<std::string>& wanted, const std::string& actual) {
  return !wanted || *wanted == actual;
}

Found find(const Report& report, const Budget& budget, const std::optional<std::string>& setting,
           const std::string& server) {
  Found found;
  for (const Measurement& measurement : report.measurements) {
    if (measurement.workload != budget.workload || measurement.server != server) continue;
    if (!matches(setting, measurement.setting)) continue;
    if (!matches(budget.operation, measurement.operation)) continue;
    if (found.measurement != nullptr)
      return {.problem = fmt::format("{} fits \"{}\" and \"{}\": name setting and operation",
                                     budget.workload, title_of(*found.measurement),
                                     title_of(measurement))};
    found.measurement = &measurement;
  }
  return found;
}

bool within(const Budget& budget, double value) {
  return budget.bound == Budget::Bound::AtLeast ? value >= budget.limit : value <= budget.limit;
}

bool has_reference(const Budget& budget) {
  return budget.against || budget.against_setting;
}

Verdict unclear(std::string problem) {
  return {.kind = Verdict::Kind::Unclear, .problem = std::move(problem)};
}

Verdict lacks(const Budget& budget, const Measurement& measurement) {
  return unclear(fmt::format("\"{}\" of {} has no {}", title_of(measurement), measurement.server,
                             budget.measure_name));
}

Verdict judge_value(const Budget& budget, const Measurement& ours) {
  const std::optional<double> value = value_of(ours, budget.measure);
  if (!value) return lacks(budget, ours);
  return {.kind = within(budget, *value) ? Verdict::Kind::Met : Verdict::Kind::Missed,
          .ours = value_text(ours, budget.measure, *value),
          .limit = value_text(ours, budget.measure, budget.limit)};
}

Verdict judge_ratio(const Budget& budget, const Measurement& ours, const Measurement& theirs) {
  const std::optional<double> value = value_of(ours, budget.measure);
  const std::optional<double> reference = value_of(theirs, budget.measure);
  if (!value) return lacks(budget, ours);
  if (!reference) return lacks(budget, theirs);
  const std::optional<double> quotient = ratio(value, reference);
  if (!quotient) return unclear(fmt::format("\"{}\" of {} is 0", title_of(theirs), theirs.server));
  return {.kind = within(budget, *quotient) ? Verdict::Kind::Met : Verdict::Kind::Missed,
          .ours = value_text(ours, budget.measure, *value),
          .theirs = value_text(theirs, budget.measure, *reference),
          .ratio = quotient};
}

Verdict judge(const Report& report, const Budget& budget) {
  const Found ours = find(report, budget, budget.setting, budget.ours);
  if (!ours.problem.empty()) return unclear(ours.problem);
  if (ours.measurement == nullptr) return {};
  if (!has_reference(budget)) return judge_value(budget, *ours.measurement);
  const Found theirs = budget.against
                           ? find(report, budget, ours.measurement->setting, *budget.against)
                           : find(report, budget, budget.against_setting, budget.ours);
  if (!theirs.problem.empty()) return unclear(theirs.problem);
  if (theirs.measurement == nullptr) return {};
  return judge_ratio(budget, *ours.measurement, *theirs.measurement);
}

std::string_view word_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::Met:
      return "met";
    case Verdict::Kind::Missed:
      return "MISSED";
    case Verdict::Kind::NotRun:
      return "not run";
    case Verdict::Kind::Unclear:
      break;
  }
  return "UNCLEAR";
}

std::string work_of(const Budget& budget) {
  return budget.workload + (budget.setting ? " " + *budget.setting : "");
}

std::string bound_of(const Budget& budget, const Verdict& verdict) {
  std::string limit = verdict.limit;
  if (limit.empty())
    limit = has_reference(budget) ? fmt::format("{:g}", budget.limit) : number_text(budget.limit);
  return (budget.bound == Budget::Bound::AtLeast ? ">= " : "<= ") + limit;
}

std::vector<std::string> cells_of(const Budget& budget, const Verdict& verdict) {
  return {budget.name,
          work_of(budget),
          budget.measure_name,
          verdict.ours,
          budget.against.value_or(budget.against_setting.value_or("-")),
          verdict.theirs,
          ratio_text(verdict.ratio),
          bound_of(budget, verdict),
          std::string(word_of(verdict.kind))};
}

std::string summary_of(const std::vector<Verdict>& verdicts) {
  const auto count = [&verdicts](Verdict::Kind kind) {
    return std::ranges::count(verdicts, kind, &Verdict::kind);
  };
  return fmt::format("{} met, {} missed, {} unclear, {} not run\n", count(Verdict::Kind::Met),
                     count(Verdict::Kind::Missed), count(Verdict::Kind::Unclear),
                     count(Verdict::Kind::NotRun));
}

bool all_are_met(const std::vector<Verdict>& verdicts) {
  bool any = false;
  for (const Verdict& verdict : verdicts) {
    if (verdict.kind == Verdict::Kind::NotRun) continue;
    if (verdict.kind != Verdict::Kind::Met) return false;
    any = true;
  }
  return any;
}

}  // namespace

std::string check_budgets(const Report& report, const std::vector<Budget>& budgets, bool& all_met) {
  TextTable table({{.heading = "budget", .left = true},
                   {.heading = "work", .left = true},
                   {.heading = "measure", .left = true},
                   {.heading = "ours"},
                   {.heading = "against", .left = true},
                   {.heading = "theirs"},
                   {.heading = "ratio"},
                   {.heading = "bound", .left = true},
                   {.heading = "verdict", .left = true}});
  std::vector<Verdict> verdicts;
  std::string problems;
  for (const Budget& budget : budgets) {
    verdicts.push_back(judge(report, budget));
    table.add(cells_of(budget, verdicts.back()));
    const std::string& problem = verdicts.back().problem;
    if (!problem.empty()) problems += labelled(budget.name, problem);
  }
  all_met = all_are_met(verdicts);
  return table.text() + problems + summary_of(verdicts);
}

}  // namespace perennial::bench
