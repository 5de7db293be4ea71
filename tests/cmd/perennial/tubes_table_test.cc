#include "cmd/perennial/live/tubes_table.h"

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

TEST(TubesTable, HasALineEachAndTotals) {
  EXPECT_EQ(tubes_table({tube("a", 1000), tube("mail", 1)}, 80),
            "TUBE            READY RESERVED DELAYED BURIED WAIT USE WATCH AGE PAUSE\n"
            "a               1,000        1       2      3    6   4     5  2h   90s\n"
            "mail                1        1       2      3    6   4     5  2h   90s\n"
            "total (2 tubes) 1,001        2       4      6   12   8    10          \n");
}

TEST(TubesTable, HasNoColumnThatTheServerDoesNotTell) {
  const std::string table = tubes_table({tube("a", 1, false)}, 80);
  EXPECT_EQ(table.find("AGE"), std::string::npos) << table;
  EXPECT_NE(table.find("PAUSE"), std::string::npos) << table;
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
