#include "cmd/perennial-bench/report/report.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perennial-bench/report/text_table.h"
#include "tests/cmd/perennial-bench/sample_report.h"

namespace perennial::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Table, ShowsTheRunAndThenEachWorkload) {
  EXPECT_EQ(format_table(sample_report()),
            R"(machine  A processor, 2 cores
server   ours: perenniald, version 0.1.0
server   logged: beanstalkd -b, version 1.12
run      5 s x 3 rounds, seed 7

put 50x1: put
server  per second   lowest..highest  p50 us  p90 us  p99 us  p99.9 us  max us  client  ratio
ours       200,000  180,000..220,000     504     901     991       999   1,000     42%   1.00
logged     100,000   90,000..110,000     504     901     991       999   1,000     42%   0.50

restart 3000000 jobs: start
server  figure   value  ratio
ours    start   0.95 s   1.00
logged  start   10.4 s   10.9
)");
}

TEST(Table, ShowsADashForWhatWasNotMeasured) {
  Report report = sample_report();
  report.measurements.resize(2);
  report.measurements[0].per_second.clear();
  report.measurements[1].latencies = {};
  EXPECT_THAT(format_table(report), HasSubstr(R"(
server  per second  lowest..highest  p50 us  p90 us  p99 us  p99.9 us  max us  client  ratio
ours             -                -     504     901     991       999   1,000     42%      -
logged     100,000  90,000..110,000       -       -       -         -       -     42%      -
)"));
}

// A percentile of too few values would be the maximum under another name.
TEST(Table, ShowsNoPercentileOfTooFew) {
  Report report = sample_report();
  report.measurements.resize(2);
  report.measurements[0].latencies = latencies_up_to(99);
  report.measurements[1].latencies = latencies_up_to(10);
  EXPECT_THAT(format_table(report), HasSubstr(R"(
server  per second   lowest..highest  p50 us  p90 us  p99 us  p99.9 us  max us  client  ratio
ours       200,000  180,000..220,000    50.2    90.1       -         -      99     42%   1.00
logged     100,000   90,000..110,000    5.05    9.09       -         -      10     42%   0.50
)"));
}

TEST(Table, ShowsNoRatioToNothing) {
  Report report = sample_report();
  report.measurements[0].per_second = {0, 0};
  EXPECT_THAT(format_table(report), HasSubstr("\nours             0             0..0 "));
  EXPECT_THAT(format_table(report), HasSubstr("42%      -\n"));
}

TEST(Table, WarnsOfABusyClientOnly) {
  Report report = sample_report();
  report.measurements[0].client_cpu = 0.9;
  EXPECT_THAT(format_table(report), Not(HasSubstr("warning")));
  report.measurements[1].client_cpu = 0.95;
  EXPECT_THAT(format_table(report), HasSubstr("\nwarning: logged: this client took 95% of a core; "
                                              "the server could have done more\n"));
}

TEST(Table, NamesThePreload) {
  Report report = sample_report();
  report.preload = "slow_sync.so, 1000 us";
  EXPECT_THAT(format_table(report), HasSubstr("\npreload  slow_sync.so, 1000 us\n"));
}

struct UnitCase {
  const char* name;
  Figure figure;
  const char* want;
};

void PrintTo(const UnitCase& unit, std::ostream* out) {
  *out << unit.name;
}

class FigureText : public testing::TestWithParam<UnitCase> {};

TEST_P(FigureText, HasAUnitThatIsEasyToRead) {
  Report report = sample_report();
  report.measurements = {report.measurements[2]};
  report.measurements[0].figures = {GetParam().figure};
  EXPECT_THAT(format_table(report), HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Table, FigureText,
    testing::Values(UnitCase{"Bytes", {"disk", "bytes", 512}, " 512 bytes   1.00\n"},
                    UnitCase{"Kibibytes", {"disk", "bytes", 1536}, " 1.5 KiB   1.00\n"},
                    UnitCase{"Mebibytes", {"disk", "bytes", 64 << 20}, " 64.0 MiB   1.00\n"},
                    UnitCase{"Gibibytes", {"resident", "bytes", 3.55 * (1 << 30)}, " 3.5 GiB   1"},
                    UnitCase{"Small", {"start", "s", 0.0496}, " 0.05 s   1.00\n"},
                    UnitCase{"Micros", {"cost", "us", 1234.5}, " 1,234 us   1.00\n"},
                    UnitCase{"Zero", {"disk", "bytes", 0}, " 0 bytes      -\n"},
                    UnitCase{"NoUnit", {"syncs", "", 1e7}, " 10,000,000   1.00\n"}),
    [](const testing::TestParamInfo<UnitCase>& param) { return param.param.name; });

size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(Table, FitsHoweverLongTheNamesAre) {
  Report report = sample_report();
  report.versions[0] = "ours: /opt/perennial/bin/perenniald";
  for (int i = 0; i < 40; ++i) report.versions[0] += " --a-flag value";
  for (Measurement& measured : report.measurements) {
    measured.server = "unix:/" + std::string(200, 'x');
    measured.latencies.add(1'000 * nanos_per_second);
    if (!measured.per_second.empty()) measured.per_second = {1e9, 1.1e9};
  }
  const std::string table = format_table(report);
  EXPECT_EQ(widest_line(table), text_columns_max);
  EXPECT_THAT(table, HasSubstr("\nunix:/xxxxx"));
  EXPECT_THAT(table, HasSubstr("x~  "));
  EXPECT_THAT(table, HasSubstr("\n         --a-flag value"));
}

TEST(Table, CutsBetweenCharacters) {
  TextTable table({{.heading = "server", .left = true}, {.heading = "value"}});
  std::string name;
  for (int i = 0; i < 200; ++i) name += "\xc3\xbc";
  table.add({name, "1"});
  std::string want;
  for (int i = 0; i < 112; ++i) want += "\xc3\xbc";
  EXPECT_THAT(table.text(), HasSubstr("\n" + want + "~      1\n"));
}

}  // namespace
}  // namespace perennial::bench
