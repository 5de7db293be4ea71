#include "cmd/perennial/tubes/tubes_table.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

StatsReply tube(std::string_view name, uint64_t ready, bool ours = true) {
  Result<StatsReply> stats = StatsReply::parse(
      fmt::format("---\nname: \"{}\"\ncurrent-jobs-ready: {}\ncurrent-jobs-reserved: 1\n"
                  "current-jobs-delayed: 2\ncurrent-jobs-buried: 3\ncurrent-using: 4\n"
                  "current-watching: 5\ncurrent-waiting: 6\npause-time-left: 90\n{}",
                  name, ready, ours ? "next-ready-age: 7200\n" : ""));
  CHECK(stats.ok());
  return stats.take();
}

// Workers have no total: each of them may be in both lines.
TEST(TubesTable, HasALineForEachTubeAndTotals) {
  EXPECT_EQ(tubes_table({tube("a", 1000), tube("mail", 1)}, 80),
            "TUBE            READY RESERVED DELAYED BURIED WAIT USE WATCH AGE PAUSE\n"
            "a               1,000        1       2      3    6   4     5  2h   90s\n"
            "mail                1        1       2      3    6   4     5  2h   90s\n"
            "total (2 tubes) 1,001        2       4      6        8                \n");
}

StatsReply parked_tube(std::string_view name, uint64_t parked) {
  Result<StatsReply> stats = StatsReply::parse(
      fmt::format("---\nname: \"{}\"\ncurrent-jobs-ready: 10000000\ncurrent-jobs-reserved: 1\n"
                  "current-jobs-delayed: 2\ncurrent-jobs-buried: 3\ncurrent-using: 4\n"
                  "current-watching: 5\ncurrent-waiting: 6\npause-time-left: 90\n"
                  "next-ready-age: 7200\ncurrent-jobs-parked: {}\n",
                  name, parked));
  CHECK(stats.ok());
  return stats.take();
}

TEST(TubesTable, CountsParkedJobsWhereThereAreSome) {
  EXPECT_EQ(tubes_table({parked_tube("a", 0), parked_tube("mail", 1200)}, 90),
            "TUBE                 READY PARKED RESERVED DELAYED BURIED WAIT USE WATCH AGE PAUSE\n"
            "a               10,000,000      0        1       2      3    6   4     5  2h   90s\n"
            "mail            10,000,000  1,200        1       2      3    6   4     5  2h   90s\n"
            "total (2 tubes) 20,000,000  1,200        2       4      6        8                \n");
  EXPECT_EQ(tubes_table({parked_tube("a", 0)}, 80).find("PARKED"), std::string::npos);
  EXPECT_NE(wide_tubes_table({parked_tube("a", 0)}).find("PARKED"), std::string::npos);
  std::istringstream lines(tubes_table({parked_tube(std::string(200, 'x'), 1200)}, 80));
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.size(), 80U) << line;
}

TEST(TubesTable, LeavesOutColumnsThatTheServerDoesNotReport) {
  const std::string table = tubes_table({tube("a", 1, false)}, 80);
  EXPECT_EQ(table.find("AGE"), std::string::npos) << table;
  EXPECT_NE(table.find("PAUSE"), std::string::npos) << table;
}

TEST(TubesTable, IsWideOnRequest) {
  const auto limited = StatsReply::parse(
      "---\nname: \"mail\"\ncurrent-jobs-ready: 1\njobs-duplicate: 1000\njobs-dead: 3\n"
      "jobs-expired: 4\ntries: 5\nbackoff: \"10:600\"\ndead: \"mail-dead\"\nexpire: 60\n"
      "reserved-max: 20\nrate: \"10:1\"\ndraining: true\n");
  const auto plain = StatsReply::parse(
      "---\nname: \"other\"\ncurrent-jobs-ready: 2\njobs-duplicate: 0\njobs-dead: 0\n"
      "jobs-expired: 0\ntries: 0\nbackoff: \"\"\ndead: \"\"\nexpire: 0\nreserved-max: 0\n"
      "rate: \"\"\ndraining: false\n");
  ASSERT_TRUE(limited.ok() && plain.ok());
  EXPECT_EQ(
      wide_tubes_table({*limited, *plain}),
      "TUBE            READY DEAD EXPIRED   DUP TRIES BACKOFF   DEAD-TO EXPIRE MAX RATE DRAIN\n"
      "mail                1    3       4 1,000     5  10:600 mail-dead     60  20 10:1   yes\n"
      "other               2    0       0     0     -       -         -      -   -    -     -\n"
      "total (2 tubes)     3    3       4 1,000                                              \n");
  EXPECT_EQ(tubes_table({*limited}, 80).find("DEAD"), std::string::npos);
}

TEST(TubesTable, FitsIntoTheColumns) {
  const std::string long_name(200, 'x');
  for (const size_t columns : {80, 100, 132}) {
    std::istringstream lines(tubes_table({tube(long_name, 10'000'000)}, columns));
    for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.size(), columns) << line;
  }
  EXPECT_NE(tubes_table({tube(long_name, 1)}, 10'000).find(long_name), std::string::npos);
}

}  // namespace
}  // namespace perennial::tool
