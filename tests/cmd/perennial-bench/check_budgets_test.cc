#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perennial-bench/report/budgets.h"
#include "engine/types/check.h"
#include "tests/cmd/perennial-bench/sample_report.h"

namespace perennial::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

// sample_report() with a second setting of `put` and a second operation of `restart`.
Report checked_report() {
  Report report = sample_report();
  report.measurements.push_back(put_of("ours", 50'000));
  report.measurements.back().setting = "200x1";
  report.measurements.back().latencies = latencies_up_to(2000);
  report.measurements.push_back(report.measurements[2]);
  report.measurements.back().operation = "again";
  return report;
}

Measure measure_named(const std::string& name) {
  const std::optional<Measure> measure = parse_measure(name);
  CHECK(measure.has_value());
  return *measure;
}

struct BudgetCase {
  const char* name;
  Budget budget;
  std::string measure;
  bool all_met;
  const char* line;  // The end of the verdict's line, with runs of spaces reduced to one.
};

void PrintTo(const BudgetCase& budget, std::ostream* out) {
  *out << budget.name;
}

Budget put_against(const std::string& server, Budget::Bound bound, double limit) {
  return {.name = "A",
          .workload = "put",
          .setting = "50x1",
          .operation = "put",
          .ours = "ours",
          .against = server,
          .bound = bound,
          .limit = limit};
}

Budget other_setting(Budget::Bound bound, double limit) {
  Budget budget = put_against("", bound, limit);
  budget.against.reset();
  budget.setting = "200x1";
  budget.against_setting = "50x1";
  return budget;
}

Budget value_of_restart(Budget::Bound bound, double limit) {
  return {.name = "A",
          .workload = "restart",
          .setting = "3000000 jobs",
          .operation = "start",
          .ours = "ours",
          .bound = bound,
          .limit = limit};
}

std::string with_single_blanks(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  return out;
}

class Checked : public testing::TestWithParam<BudgetCase> {};

TEST_P(Checked, HasItsVerdict) {
  Budget budget = GetParam().budget;
  budget.measure_name = GetParam().measure;
  budget.measure = measure_named(budget.measure_name);
  bool all_met = !GetParam().all_met;
  const std::string verdicts = check_budgets(checked_report(), {budget}, all_met);
  EXPECT_EQ(all_met, GetParam().all_met) << verdicts;
  EXPECT_THAT(with_single_blanks(verdicts), HasSubstr(GetParam().line));
}

constexpr auto at_least = Budget::Bound::AtLeast;
constexpr auto at_most = Budget::Bound::AtMost;

INSTANTIATE_TEST_SUITE_P(
    Ratio, Checked,
    testing::Values(
        BudgetCase{"ThroughputMet", put_against("logged", at_least, 2), "throughput", true,
                   "put 50x1 throughput 200,000/s logged 100,000/s 2.00 >= 2 met\n"},
        BudgetCase{"ThroughputMissed", put_against("logged", at_least, 2.001), "throughput", false,
                   " 2.00 >= 2.001 MISSED\n"},
        BudgetCase{"ThroughputAtMost", put_against("logged", at_most, 1.9), "throughput", false,
                   " 2.00 <= 1.9 MISSED\n"},
        BudgetCase{"P50Met", put_against("logged", at_most, 1), "p50", true,
                   " p50 504 us logged 504 us 1.00 <= 1 met\n"},
        BudgetCase{"P90Missed", put_against("logged", at_most, 0.99), "p90", false,
                   " p90 901 us logged 901 us 1.00 <= 0.99 MISSED\n"},
        BudgetCase{"P99Met", put_against("logged", at_least, 1), "p99", true, " 1.00 >= 1 met\n"},
        BudgetCase{"P999Met", put_against("logged", at_least, 1), "p99.9", true,
                   " p99.9 999 us logged 999 us 1.00 >= 1 met\n"},
        BudgetCase{"MaxMissed", put_against("logged", at_least, 1.1), "max", false,
                   " max 1,000 us logged 1,000 us 1.00 >= 1.1 MISSED\n"}),
    [](const testing::TestParamInfo<BudgetCase>& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OtherSetting, Checked,
    testing::Values(BudgetCase{"Met", other_setting(at_least, 0.25), "throughput", true,
                               " 200x1 throughput 50,000/s 50x1 200,000/s 0.25 >= 0.25 met\n"},
                    BudgetCase{"Missed", other_setting(at_most, 1.3), "max", false,
                               " max 2,000 us 50x1 1,000 us 2.00 <= 1.3 MISSED\n"}),
    [](const testing::TestParamInfo<BudgetCase>& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Value, Checked,
    testing::Values(BudgetCase{"AtMostMet", value_of_restart(at_most, 0.95), "figure:start", true,
                               " figure:start 0.95 s - - - <= 0.95 s met\n"},
                    BudgetCase{"AtMostMissed", value_of_restart(at_most, 0.9), "figure:start",
                               false, " 0.95 s - - - <= 0.90 s MISSED\n"},
                    BudgetCase{"AtLeastMet", value_of_restart(at_least, 0.9), "figure:start", true,
                               " >= 0.90 s met\n"},
                    BudgetCase{"AtLeastMissed", value_of_restart(at_least, 1), "figure:start",
                               false, " >= 1 s MISSED\n"}),
    [](const testing::TestParamInfo<BudgetCase>& param) { return param.param.name; });

Budget unnamed(const std::string& workload, bool setting, bool operation) {
  Budget budget = put_against("logged", at_least, 0.01);
  budget.workload = workload;
  if (!setting) budget.setting.reset();
  if (!operation) budget.operation.reset();
  if (setting && workload == "restart") budget.setting = "3000000 jobs";
  return budget;
}

Budget elsewhere(Budget budget, const std::string& workload, const std::string& setting) {
  budget.workload = workload;
  budget.setting = setting;
  return budget;
}

Budget of(Budget budget, const std::string& ours) {
  budget.ours = ours;
  return budget;
}

INSTANTIATE_TEST_SUITE_P(
    NotRun, Checked,
    testing::Values(
        BudgetCase{"Workload", elsewhere(put_against("logged", at_least, 1), "cycle", "25+25"),
                   "throughput", false, "A cycle 25+25 throughput - logged - - >= 1 not run\n"},
        BudgetCase{"Setting", elsewhere(put_against("logged", at_least, 1), "put", "7x1"),
                   "throughput", false, " not run\n"},
        BudgetCase{"Ours", of(put_against("logged", at_least, 1), "mine"), "throughput", false,
                   " not run\n"},
        BudgetCase{"Theirs", put_against("synced", at_least, 1), "throughput", false,
                   " - synced - - >= 1 not run\n"}),
    [](const testing::TestParamInfo<BudgetCase>& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Unclear, Checked,
    testing::Values(
        BudgetCase{"NoSuchFigure", put_against("logged", at_least, 1), "figure:start", false,
                   "\nA \"put 50x1: put\" of ours has no figure:start\n"},
        BudgetCase{"NoLatencies", value_of_restart(at_most, 1), "p50", false,
                   "\nA \"restart 3000000 jobs: start\" of ours has no p50\n"},
        BudgetCase{"SeveralSettings", unnamed("put", false, true), "throughput", false,
                   "\nA put fits \"put 50x1: put\" and \"put 200x1: put\": name setting and "
                   "operation\n"},
        BudgetCase{"SeveralOperations", unnamed("restart", true, false), "figure:start", false,
                   "\nA restart fits \"restart 3000000 jobs: start\" and \"restart 3000000 jobs: "
                   "again\": name setting and operation\n"}),
    [](const testing::TestParamInfo<BudgetCase>& param) { return param.param.name; });

std::string verdicts_of(Report report, bool& all_met) {
  Budget budget = put_against("logged", at_least, 0.5);
  budget.measure_name = "throughput";
  Budget absent = elsewhere(budget, "cycle", "25+25");
  absent.name = "B";
  return check_budgets(report, {budget, absent}, all_met);
}

TEST(Verdicts, OfWorkloadsThatWereNotRunAreNoFailure) {
  bool all_met = false;
  EXPECT_THAT(verdicts_of(sample_report(), all_met),
              HasSubstr("\n1 met, 0 missed, 0 unclear, 1 not run\n"));
  EXPECT_TRUE(all_met);
}

TEST(Verdicts, OfAnEmptyReportAreAFailure) {
  bool all_met = true;
  EXPECT_THAT(verdicts_of(Report{}, all_met),
              HasSubstr("\n0 met, 0 missed, 0 unclear, 2 not run\n"));
  EXPECT_FALSE(all_met);
}

TEST(Verdicts, WithoutAReferenceAreUnclear) {
  Report report = sample_report();
  report.measurements[1].per_second = {0};
  bool all_met = true;
  EXPECT_THAT(verdicts_of(report, all_met),
              HasSubstr("\nA        \"put 50x1: put\" of logged is 0\n"));
  EXPECT_FALSE(all_met);
}

TEST(Verdicts, AreATable) {
  bool all_met = false;
  EXPECT_EQ(
      verdicts_of(sample_report(), all_met),
      R"(budget  work         measure          ours  against     theirs  ratio  bound   verdict
A       put 50x1     throughput  200,000/s  logged   100,000/s   2.00  >= 0.5  met
B       cycle 25+25  throughput          -  logged           -      -  >= 0.5  not run
1 met, 0 missed, 0 unclear, 1 not run
)");
}

}  // namespace
}  // namespace perennial::bench
