#include "cmd/perennial-bench/report/budgets.h"

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace perennial::bench {
namespace {

using testing::HasSubstr;

constexpr const char* good_budget =
    "budgets:\n"
    "  - name: A\n"
    "    workload: put\n"
    "    setting: 50x1\n"
    "    operation: put\n"
    "    ours: ours\n"
    "    against: logged\n"
    "    measure: throughput\n"
    "    at_least: 0.9\n";

Result<std::vector<Budget>> read(const std::string& text) {
  const support::TempDir dir;
  const std::string path = dir.path() + "/budgets.yaml";
  std::ofstream(path) << text;
  Result<std::vector<Budget>> budgets = read_budgets(path);
  if (budgets.ok()) return budgets;
  // Removes the folder, whose name differs in each run.
  std::string message = budgets.status().message();
  for (size_t at; (at = message.find(dir.path() + "/")) != std::string::npos;)
    message.erase(at, dir.path().size() + 1);
  return Status(budgets.status().code(), message);
}

TEST(Budgets, AreReadWithAllTheyHave) {
  const Result<std::vector<Budget>> budgets = read(good_budget);
  ASSERT_TRUE(budgets.ok()) << budgets.status().message();
  ASSERT_EQ(budgets->size(), 1U);
  const Budget& budget = budgets->front();
  EXPECT_EQ(budget.name, "A");
  EXPECT_EQ(budget.workload, "put");
  EXPECT_EQ(budget.setting, "50x1");
  EXPECT_EQ(budget.operation, "put");
  EXPECT_EQ(budget.ours, "ours");
  EXPECT_EQ(budget.against, "logged");
  EXPECT_EQ(budget.against_setting, std::nullopt);
  EXPECT_EQ(budget.measure.kind, Measure::Kind::Throughput);
  EXPECT_EQ(budget.bound, Budget::Bound::AtLeast);
  EXPECT_EQ(budget.limit, 0.9);
}

TEST(Budgets, BoundValuesOfBytesWithAUnit) {
  const Result<std::vector<Budget>> budgets = read(
      "budgets:\n"
      "  - {name: A, workload: disk, ours: ours, measure: 'figure:disk', at_most_value: 64 MiB}\n"
      "  - {name: B, workload: put, ours: ours, measure: p99.9, at_least_value: 1.5e3}\n");
  ASSERT_TRUE(budgets.ok()) << budgets.status().message();
  EXPECT_EQ((*budgets)[0].limit, 64 << 20);
  EXPECT_EQ((*budgets)[0].measure.figure, "disk");
  EXPECT_EQ((*budgets)[0].setting, std::nullopt);
  EXPECT_EQ((*budgets)[1].limit, 1500);
  EXPECT_EQ((*budgets)[1].measure.share, 0.999);
}

// The valid budgets with `from` replaced by `to`, and the expected message.
struct BadCase {
  const char* name;
  std::string from;
  std::string to;
  std::string problem;
};

void PrintTo(const BadCase& bad, std::ostream* out) {
  *out << bad.name;
}

class BadBudget : public testing::TestWithParam<BadCase> {};

TEST_P(BadBudget, IsRefusedWithItsLine) {
  std::string text = good_budget;
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  const Result<std::vector<Budget>> budgets = read(text);
  ASSERT_FALSE(budgets.ok());
  EXPECT_EQ(budgets.status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(budgets.status().message(), "budgets.yaml:" + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Budgets, BadBudget,
    testing::Values(
        BadCase{"UnknownKey",
                "operation:", "operations:", "5: operations: a budget has no such key"},
        BadCase{"KeyTwice", "operation: put", "setting: put", "5: setting: set twice"},
        BadCase{"AList", "operation: put", "operation: [put]", "5: operation: expected one value"},
        BadCase{"Empty", "ours: ours", "ours:", "6: ours: expected one value"},
        BadCase{"KeyThatIsAList", "operation: put", "[put]: put", "5: expected the name of a key"},
        BadCase{"NoName", "name: A\n    ", "", "2: name: missing"},
        BadCase{"NoWorkload", "    workload: put\n", "", "2: workload: missing"},
        BadCase{"NoServer", "    ours: ours\n", "", "2: ours: missing"},
        BadCase{"NoMeasure", "    measure: throughput\n", "", "2: measure: missing"},
        BadCase{"UnknownMeasure", "measure: throughput", "measure: p95",
                "2: measure: p95 is none; it is throughput, p50, p90, p99, p99.9, max or "
                "figure:NAME"},
        BadCase{"FigureWithoutAName", "measure: throughput", "measure: 'figure:'",
                "2: measure: figure: is none; it is throughput, p50, p90, p99, p99.9, max or "
                "figure:NAME"},
        BadCase{"NoBound", "    at_least: 0.9\n", "",
                "2: a bound is missing: at_least, at_most, at_least_value or at_most_value"},
        BadCase{"TwoBounds", "at_least: 0.9\n", "at_least: 0.9\n    at_most: 2\n",
                "10: at_most beside at_least: a budget has one bound, not two"},
        BadCase{"BoundThatIsAWord", "0.9", "much", "9: at_least: much is no number above zero"},
        BadCase{"BoundOfZero", "0.9", "0", "9: at_least: 0 is no number above zero"},
        BadCase{"BoundBelowZero", "0.9", "-1", "9: at_least: -1 is no number above zero"},
        BadCase{"BoundThatIsNone", "0.9", ".nan", "9: at_least: .nan is no number above zero"},
        BadCase{"RatioToNothing", "    against: logged\n", "",
                "2: at_least: bounds a ratio; say against what, or use at_least_value"},
        BadCase{"ValueAgainstSomething", "at_least:", "at_most_value:",
                "2: at_most_value: bounds a value, which stands against nothing"},
        BadCase{"AgainstBoth", "against: logged\n", "against: logged\n    against_setting: 1x1\n",
                "2: against or against_setting: one of them, not both"},
        BadCase{"AgainstASettingWithoutOne", "    setting: 50x1\n", "    against_setting: 1x1\n",
                "2: against or against_setting: one of them, not both\n"
                "budgets.yaml:2: against_setting: needs a setting to compare with"},
        BadCase{"NotABudget", "- name: A", "- A\n  - name: A",
                "2: expected a budget: '- name: ...' and its keys"},
        BadCase{"NoList", "budgets:\n  - name", "budgets:\n    name",
                "1: expected 'budgets:' and a list below it, and nothing else"},
        BadCase{"AnotherKey", "budgets:", "servers: 1\nbudgets:",
                "1: expected 'budgets:' and a list below it, and nothing else"},
        BadCase{"NotYaml", "workload: put", "workload: ]put", "3: illegal flow end"}),
    [](const testing::TestParamInfo<BadCase>& param) { return param.param.name; });

TEST(Budgets, ReportAllProblemsAtOnce) {
  const Result<std::vector<Budget>> budgets = read(
      "budgets:\n"
      "  - {name: A, workload: put, ours: a, measure: p50, at_most_value: 5}\n"
      "  - {name: A, workload: put, ours: a, measure: p50, at_most_value: 5}\n"
      "  - {name: B, workload: put, ours: a, measure: p51, at_most_value: 5}\n");
  ASSERT_FALSE(budgets.ok());
  EXPECT_EQ(budgets.status().message(),
            "budgets.yaml:3: name: there is a budget A already\n"
            "budgets.yaml:4: measure: p51 is none; it is throughput, p50, p90, p99, p99.9, max or "
            "figure:NAME");
}

TEST(Budgets, AreRefusedWhenThereAreNone) {
  EXPECT_THAT(read("budgets: []\n").status().message(), HasSubstr("there is no budget in it"));
  EXPECT_THAT(read("").status().message(), HasSubstr("expected 'budgets:'"));
  EXPECT_THAT(read("# Nothing.\n").status().message(), HasSubstr("expected 'budgets:'"));
}

TEST(Budgets, AreNotFoundWhereThereIsNoFile) {
  const support::TempDir dir;
  for (const std::string& path : {dir.path() + "/none.yaml", dir.path()}) {
    const Result<std::vector<Budget>> budgets = read_budgets(path);
    ASSERT_FALSE(budgets.ok());
    EXPECT_EQ(budgets.status().code(), StatusCode::NotFound);
    EXPECT_EQ(budgets.status().message(), path + ": cannot be read; is there such a file?");
  }
}

TEST(Budgets, OfThisProjectAreAllThere) {
  const Result<std::vector<Budget>> budgets = read_budgets(ETC_DIR "/bench-budgets.yaml");
  ASSERT_TRUE(budgets.ok()) << budgets.status().message();
  std::set<std::string> promises;
  for (const Budget& budget : *budgets) promises.insert(budget.name.substr(0, 2));
  EXPECT_EQ(promises,
            (std::set<std::string>{"B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9"}));
}

}  // namespace
}  // namespace perennial::bench
