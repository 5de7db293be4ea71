#include "cmd/perennial-bench/report/deliver.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial-bench/report/report.h"
#include "tests/cmd/perennial-bench/sample_report.h"
#include "tests/cmd/perennial-bench/xml.h"
#include "tests/support/temp_dir.h"

namespace perennial::bench {
namespace {

using testing::HasSubstr;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Budget budget(double limit) {
  return {.name = "A",
          .workload = "put",
          .ours = "ours",
          .against = "logged",
          .measure_name = "throughput",
          .limit = limit};
}

// The standard output of deliver() and its status.
struct Delivered {
  std::string out;
  Status status;
};

Delivered delivered(const BenchOptions& options, const std::vector<Budget>& budgets = {}) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Status status = deliver(options, budgets, sample_report());
  testing::internal::GetCapturedStderr();
  return {.out = testing::internal::GetCapturedStdout(), .status = std::move(status)};
}

TEST(Delivered, IsATableByDefault) {
  const Delivered got = delivered({});
  EXPECT_TRUE(got.status.ok());
  EXPECT_EQ(got.out, format_table(sample_report()));
}

TEST(Delivered, IsJsonAloneOnStandardOutput) {
  const Delivered got = delivered({.json = "-", .check = "budgets.yaml"}, {budget(1)});
  EXPECT_TRUE(got.status.ok());
  EXPECT_EQ(nlohmann::json::parse(got.out)["seed"], 7);
}

TEST(Delivered, GoesIntoFiles) {
  const support::TempDir dir;
  const Delivered got = delivered({.json = dir.path() + "/bench.json"});
  EXPECT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_EQ(got.out, format_table(sample_report()));
  EXPECT_EQ(nlohmann::json::parse(content_of(dir.path() + "/bench.json"))["seed"], 7);
}

TEST(Delivered, IsDrawnIntoAFile) {
  if (std::system("command -v jq >/dev/null && command -v gnuplot >/dev/null") != 0)
    GTEST_SKIP() << "jq and gnuplot are not installed";
  const support::TempDir dir;
  const Delivered got = delivered({.plot = dir.path() + "/bench.svg"});
  EXPECT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_EQ(parse_xml(content_of(dir.path() + "/bench.svg"))[0].name, "svg");
}

TEST(Delivered, NamesAFileThatCannotBeWritten) {
  const support::TempDir dir;
  const std::string path = dir.path() + "/none/file";
  for (const BenchOptions& options : {BenchOptions{.json = path}, BenchOptions{.plot = path}}) {
    const Delivered got = delivered(options);
    EXPECT_EQ(got.status.code(), StatusCode::Io);
    EXPECT_EQ(got.status.message(), path + ": cannot be written");
    EXPECT_EQ(got.out, format_table(sample_report()));  // The results of an hour are not lost.
  }
}

TEST(Delivered, IsCheckedWhenBudgetsAreGiven) {
  const BenchOptions options = {.check = "budgets.yaml"};
  const Delivered met = delivered(options, {budget(2)});
  EXPECT_TRUE(met.status.ok());
  EXPECT_THAT(met.out, HasSubstr("\n1 met, 0 missed, 0 unclear, 0 not run\n"));
  const Delivered missed = delivered(options, {budget(2.5)});
  EXPECT_EQ(missed.status.message(), "budgets.yaml: not all budgets are met");
  EXPECT_THAT(missed.out, HasSubstr("MISSED\n"));
}

}  // namespace
}  // namespace perennial::bench
