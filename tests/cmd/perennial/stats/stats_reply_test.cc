#include "cmd/common/tool/stats_reply.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cmd/perennial/stats/stats_table.h"
#include "engine/types/command.h"
#include "wire/stats_rows.h"

namespace perennial::tool {
namespace {

constexpr std::string_view old_server =
    "---\ncurrent-jobs-ready: 5\nversion: \"1.12\"\nrusage-utime: 0.001838\ndraining: false\n"
    "id: 1234567890123456\nhostname: a: b\nos: #1 SMP x\nempty:\n";

TEST(StatsReply, ReadsWhatIsNotYaml) {
  const Result<StatsReply> stats = StatsReply::parse(old_server);
  ASSERT_TRUE(stats.ok()) << stats.status().message();
  EXPECT_EQ(stats->fields().size(), 8U);
  EXPECT_EQ(stats->number("current-jobs-ready"), 5U);
  EXPECT_EQ(stats->text("version"), "1.12");
  EXPECT_EQ(stats->text("hostname"), "a: b");
  EXPECT_EQ(stats->text("os"), "#1 SMP x");
  EXPECT_EQ(stats->text("empty"), "");
  EXPECT_EQ(stats->text("no-such-key"), std::nullopt);
  EXPECT_EQ(stats->number("version"), std::nullopt);
  EXPECT_EQ(stats->count("no-such-key"), 0U);
}

TEST(StatsReply, InJsonHasNumbersAsNumbersAndNamesAsText) {
  const Result<StatsReply> stats = StatsReply::parse(old_server);
  EXPECT_EQ(to_json(*stats),
            "{\n  \"current-jobs-ready\": 5,\n  \"version\": \"1.12\",\n"
            "  \"rusage-utime\": 0.001838,\n  \"draining\": false,\n"
            "  \"id\": \"1234567890123456\",\n  \"hostname\": \"a: b\",\n"
            "  \"os\": \"#1 SMP x\",\n  \"empty\": \"\"\n}");
  const Result<StatsReply> job = StatsReply::parse("---\nid: 7\ntube: \"12\"\nstate: ready\n");
  EXPECT_EQ(to_json(*job), "{\n  \"id\": 7,\n  \"tube\": \"12\",\n  \"state\": \"ready\"\n}");
}

struct BadCase {
  const char* name;
  std::string_view document;
};
void PrintTo(const BadCase& bad, std::ostream* out) {
  *out << bad.name;
}

class BadStats : public testing::TestWithParam<BadCase> {};

TEST_P(BadStats, AreAnErrorOfTheServer) {
  const Result<StatsReply> stats = StatsReply::parse(GetParam().document);
  ASSERT_FALSE(stats.ok());
  EXPECT_EQ(stats.status().code(), StatusCode::Io);
}

INSTANTIATE_TEST_SUITE_P(StatsReply, BadStats,
                         testing::Values(BadCase{"Empty", ""}, BadCase{"NoStart", "id: 1\n"},
                                         BadCase{"StartOnly", "---"},
                                         BadCase{"NoColon", "---\nid 1\n"},
                                         BadCase{"NoKey", "---\n: 1\n"},
                                         BadCase{"EmptyLine", "---\n\nid: 1\n"}),
                         [](const auto& param) { return param.param.name; });

TEST(TubeNames, AreALineEach) {
  const auto names = parse_names("---\n- default\n- a(b)\n");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<std::string>{"default", "a(b)"}));
  EXPECT_FALSE(parse_names("---\ndefault\n").ok());
}

TEST(StatsTable, LeavesOutWhatTheServerDoesNotHave) {
  const Result<StatsReply> stats = StatsReply::parse(old_server);
  const std::string table = server_table(*stats);
  EXPECT_NE(table.find("ready                   5\n"), std::string::npos) << table;
  EXPECT_NE(table.find("draining                false\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("store"), std::string::npos) << table;
  EXPECT_EQ(table.find("buried"), std::string::npos) << table;
}

// Commands that change jobs come first and queries last, with perenniald's own command among them.
TEST(StatsTable, HasEachCommandThatIsCounted) {
  std::string document = "---\n";
  std::vector<std::string> lines;
  for_each_command([&](const auto& row) {
    if (row.stats_key.empty()) return;
    document += fmt::format("{}: 1\n", row.stats_key);
    lines.push_back(fmt::format("\n  {:<22}  1\n", row.word()));
  });
  const std::string table = server_table(*StatsReply::parse(document));
  for (const std::string& line : lines) EXPECT_NE(table.find(line), std::string::npos) << line;
  size_t last = 0;
  for (const char* word : {"put", "reserve", "touch", "peek", "use", "pause-tube", "stats",
                           "stats-tube", "list-tubes", "list-tubes-watched"}) {
    const size_t at = table.find(fmt::format("\n  {:<22}  1\n", word));
    EXPECT_GT(at, last) << word << " in\n" << table;
    last = at;
  }
}

// A number that the tables leave out is one that nobody looks for.
template <typename Rows>
void expect_shown(const Rows& rows, std::string (*table)(const StatsReply&),
                  const std::set<std::string_view>& left_out) {
  for (const auto& row : rows) {
    const std::string with = table(*StatsReply::parse(fmt::format("---\n{}: 1\n", row.key)));
    const bool is_shown = with.find("\n  ") != std::string::npos;
    EXPECT_NE(is_shown, left_out.contains(row.key)) << row.key;
  }
}

TEST(StatsTable, ShowsEachKeyOfAJob) {
  // The id is the title. There are no files, the times are those of other keys, and notes are shown
  // themselves.
  const std::set<std::string_view> left_out = {"id",     "file",         "delay-ms",
                                               "ttr-ms", "time-left-ms", "notes"};
  expect_shown(wire::job_rows(), job_table, left_out);
  expect_shown(wire::job_more_rows(), job_table, left_out);
}

TEST(StatsTable, ShowsEachKeyOfATube) {
  expect_shown(wire::tube_rows(), tube_table, {"name"});
  expect_shown(wire::tube_own_rows(), tube_table, {});
  expect_shown(wire::tube_more_rows(), tube_table, {});
}

TEST(StatsTable, ShowsEachKeyOfTheServer) {
  expect_shown(wire::server_state_rows(), server_table, {});
  expect_shown(wire::server_rows(), server_table, {});
  expect_shown(wire::server_own_rows(), server_table, {});
  expect_shown(wire::cluster_rows(), server_table, {});
}

TEST(StatsTable, SaysDurationsAndSizesInWords) {
  const Result<StatsReply> stats = StatsReply::parse(
      "---\nuptime: 93784\nmax-job-size: 65536\nsync-us-p99: 6377\ncurrent-jobs-ready: 1234567\n"
      "store-state: low\x1bspace\n");
  const std::string table = server_table(*stats);
  for (const char* line : {"up                      1 d 2 h\n", "largest body            64KiB\n",
                           "p99 of a sync           6.4 ms\n", "1,234,567\n", "low\\x1bspace\n"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << " in\n" << table;
  }
}

}  // namespace
}  // namespace perennial::tool
