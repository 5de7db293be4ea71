#include "wire/stats_rows.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/documents.h"

// The rows of statistics, compared with the documents.
namespace perennial::wire {
namespace {

using support::code;
using support::documented_rows;

template <typename Facts>
void add_lines(std::vector<std::string>& lines, std::span<const StatsRow<Facts>> rows) {
  for (const StatsRow<Facts>& row : rows) {
    lines.push_back(fmt::format("| {} | {} |", code(row.key), row.meaning));
  }
}

TEST(StatsRows, ServerRowsAreDocumented) {
  std::vector<std::string> lines;
  add_lines(lines, server_state_rows());
  add_lines(lines, server_rows());
  add_lines(lines, server_own_rows());
  add_lines(lines, cluster_rows());
  EXPECT_EQ(documented_rows("protocol.md", "### stats", lines), lines);
}

TEST(StatsRows, TubeRowsAreDocumented) {
  std::vector<std::string> lines;
  add_lines(lines, tube_rows());
  add_lines(lines, tube_own_rows());
  add_lines(lines, tube_more_rows());
  EXPECT_EQ(documented_rows("protocol.md", "### stats-tube", lines), lines);
}

TEST(StatsRows, JobRowsAreDocumented) {
  std::vector<std::string> lines;
  add_lines(lines, job_rows());
  add_lines(lines, job_more_rows());
  EXPECT_EQ(documented_rows("protocol.md", "### stats-job", lines), lines);
}

TEST(StatsRows, EachServerKeyIsUsedOnce) {
  std::set<std::string_view> keys;
  for (const auto& row : server_state_rows()) EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  for (const auto& row : server_own_rows()) EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  for (const auto& row : server_rows()) EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  for_each_command([&](const auto& row) {
    if (row.stats_key.empty()) return;
    EXPECT_TRUE(keys.insert(row.stats_key).second) << row.stats_key;
  });
}

}  // namespace
}  // namespace perennial::wire
