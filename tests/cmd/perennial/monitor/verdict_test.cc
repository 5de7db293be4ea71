// What a monitor is told: limits, the state, the line and its performance data. Without a server.

#include "cmd/perennial/monitor/verdict.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace perennial::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

StatsReply reply(const std::string& lines) {
  Result<StatsReply> parsed = StatsReply::parse("---\n" + lines);
  CHECK(parsed.ok());
  return parsed.take();
}

const std::string well =
    "current-jobs-ready: 1200\ncurrent-jobs-reserved: 2\ncurrent-jobs-delayed: 3\n"
    "current-jobs-buried: 4\nstore-state: ok\ndraining: false\njobs-damaged: 0\n"
    "checkpoint-age: 100\n";

StatsReply tube(const std::string& name, int ready, int buried, int oldest) {
  return reply("name: \"" + name + "\"\ncurrent-jobs-ready: " + std::to_string(ready) +
               "\ncurrent-jobs-buried: " + std::to_string(buried) +
               "\nnext-ready-age: " + std::to_string(oldest) + "\njobs-dead: 0\n");
}

std::string line(const std::string& stats, const std::vector<StatsReply>& tubes,
                 const Limits& limits = {}, const std::vector<std::string>& wanted = {}) {
  return verdict_line(judge(reply(stats), tubes, wanted, limits));
}

TEST(Thresholds, AreReadAsPeopleWriteThem) {
  const Result<Thresholds> both = parse_time_thresholds("60s,1h30m");
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(both->warning, 60U);
  EXPECT_EQ(both->critical, 5400U);
  EXPECT_EQ(parse_time_thresholds("2d")->warning, 172'800U);
  EXPECT_EQ(parse_time_thresholds("90")->critical, std::nullopt);
  EXPECT_EQ(parse_count_thresholds(",7")->warning, std::nullopt);
  EXPECT_EQ(parse_count_thresholds(",7")->critical, 7U);
}

TEST(Thresholds, WrongOnesAreRefused) {
  for (const char* text : {",", "2,1", "x", "1,x", "1,2,3", "-1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_count_thresholds(text).ok()) << text;
    EXPECT_FALSE(parse_time_thresholds(text).ok()) << text;
  }
  for (const char* text : {"1x", "s", "m5", "5m,1m", "1h ", "99999d"})
    EXPECT_FALSE(parse_time_thresholds(text).ok()) << text;
  EXPECT_FALSE(parse_count_thresholds("5m").ok());
}

// Of the disk there can be too little, so the first limit is the higher one.
TEST(Thresholds, OfWhatThereCanBeTooLittle) {
  const Result<Thresholds> both = parse_low_bytes_thresholds("20GiB,512MiB");
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(both->warning, uint64_t{20} << 30);
  EXPECT_EQ(both->critical, uint64_t{512} << 20);
  for (const char* text : {"1GiB,2GiB", "5m", ",", "x"})
    EXPECT_FALSE(parse_low_bytes_thresholds(text).ok()) << text;
}

TEST(VerdictLine, SaysThatTheDiskFills) {
  const Limits limits = {.disk_free = *parse_low_bytes_thresholds("2GiB,1GiB")};
  const auto of = [&](const std::string& bytes) {
    return line(well + "disk-free-bytes: " + bytes + "\n", {}, limits);
  };
  EXPECT_THAT(of("2147483648"), HasSubstr("PERENNIAL OK"));
  EXPECT_THAT(of("2147483648"), HasSubstr("disk_free=2147483648B;2147483648:;1073741824:"));
  EXPECT_THAT(of("2147483647"), HasSubstr("PERENNIAL WARNING - free on the disk"));
  EXPECT_THAT(of("1073741824"), HasSubstr("PERENNIAL WARNING - free on the disk 1073.7 MB, below"));
  EXPECT_THAT(of("1073741823"), HasSubstr("PERENNIAL CRITICAL - free on the disk"));
  EXPECT_THAT(line(well, {}, limits), HasSubstr("UNKNOWN - the server does not say"));
}

TEST(VerdictLine, SaysHowFarTheStandbysAre) {
  const Limits limits = {.standby_lag = *parse_count_thresholds("100,1000")};
  const auto of = [&](const std::string& role, int standbys, int lag) {
    return line(well + "cluster-role: " + role + "\ncluster-standbys: " + std::to_string(standbys) +
                    "\ncluster-standby-lag: " + std::to_string(lag) + "\n",
                {}, limits);
  };
  EXPECT_THAT(of("leader", 2, 100), HasSubstr("PERENNIAL OK"));
  EXPECT_THAT(of("leader", 2, 100), HasSubstr("standby_lag=100;100;1000"));
  EXPECT_THAT(of("leader", 2, 101), HasSubstr("WARNING - entries that a standby is behind: 101"));
  EXPECT_THAT(of("leader", 2, 1001), HasSubstr("PERENNIAL CRITICAL"));
  EXPECT_THAT(of("leader", 0, 0), HasSubstr("WARNING - no standby follows"));
  EXPECT_THAT(of("standby", 0, 0), HasSubstr("UNKNOWN - the server is no leader"));
  EXPECT_THAT(line(well, {}, limits), HasSubstr("UNKNOWN - the server is no leader"));
}

TEST(VerdictLine, OfAServerThatIsWell) {
  EXPECT_EQ(
      line(well, {tube("a", 1000, 0, 5), tube("b", 200, 4, 12)}),
      "PERENNIAL OK - 1,200 jobs ready, 2 reserved, 3 delayed, 4 buried, the oldest ready one "
      "for 12 s in 'b' | oldest=12s ready=1000 buried=4 dead=0 damaged=0;0 "
      "checkpoint_age=100s\n");
}

TEST(VerdictLine, NamesTheWorstTubeAndTheLimit) {
  const Limits limits = {.oldest = Thresholds{60, 600},
                         .buried = Thresholds{.warning = 1},
                         .checkpoint_age = Thresholds{50, 100}};
  EXPECT_EQ(
      line(well, {tube("a", 1, 0, 61), tube("b", 1, 2, 601)}, limits),
      "PERENNIAL CRITICAL - tube 'b': oldest ready job 10 min 1 s, above 10 min; tube 'b': "
      "buried jobs 2, above 1; last checkpoint ago 1 min 40 s, above 50 s | "
      "oldest=601s;60;600 ready=1 buried=2;1 dead=0 damaged=0;0 checkpoint_age=100s;50;100\n");
}

TEST(VerdictLine, AValueAtTheLimitIsWell) {
  const Limits limits = {.oldest = Thresholds{60, 600}, .buried = Thresholds{1, 1}};
  EXPECT_THAT(line(well, {tube("a", 1, 1, 60)}, limits), HasSubstr("PERENNIAL OK"));
}

TEST(VerdictLine, WithoutLimitsSaysWhatIsWrongWithTheServer) {
  const auto with = [](std::string stats, const std::string& from, const std::string& to) {
    return stats.replace(stats.find(from), from.size(), to);
  };
  EXPECT_THAT(line(with(well, "store-state: ok", "store-state: low-space"), {}),
              HasSubstr("CRITICAL - store-state is 'low-space' | "));
  EXPECT_THAT(line(with(well, "draining: false", "draining: true"), {}),
              HasSubstr("WARNING - the server is draining"));
  EXPECT_THAT(line(with(well, "draining: false", "draining: false\nschedules-refused: 3"), {}),
              HasSubstr("WARNING - schedules whose put is refused: 3 | "));
  EXPECT_THAT(line(with(well, "damaged: 0", "damaged: 1"), {}),
              HasSubstr("WARNING - damaged jobs 1, above 0 | "));
  EXPECT_THAT(line(with(well, "checkpoint-age: 100", "checkpoint-age: -1"), {}),
              testing::AllOf(HasSubstr("PERENNIAL OK"), Not(HasSubstr("checkpoint"))));
}

// No zeros are made up for a server that says nothing of itself.
TEST(VerdictLine, AServerWithoutValuesIsUnknown) {
  EXPECT_EQ(line("", {}, {}), "PERENNIAL UNKNOWN - the server does not say 'current-jobs-ready'\n");
}

TEST(VerdictLine, NoCheckpointIsWorseThanAnOldOne) {
  const std::string none = "current-jobs-ready: 1\ncheckpoint-age: -1\n";
  EXPECT_THAT(line(none, {}, {.checkpoint_age = Thresholds{1, 2}}),
              HasSubstr("CRITICAL - there is no checkpoint"));
  EXPECT_THAT(line(none, {}, {.checkpoint_age = Thresholds{.warning = 1}}),
              HasSubstr("WARNING - there is no checkpoint"));
}

TEST(VerdictLine, ALimitOfWhatTheServerDoesNotSayIsUnknown) {
  const std::string beanstalkd = "current-jobs-ready: 1\n";
  const std::vector<StatsReply> tubes = {reply("name: a\ncurrent-jobs-ready: 1\n")};
  EXPECT_THAT(line(beanstalkd, tubes, {.oldest = Thresholds{1, 2}}),
              HasSubstr("UNKNOWN - the server does not say 'next-ready-age' | ready=1\n"));
  EXPECT_THAT(line(beanstalkd, tubes, {.ready = Thresholds{0, 2}, .checkpoint_age = Thresholds{1}}),
              HasSubstr("UNKNOWN - the server does not say 'checkpoint-age'; tube 'a'"));
}

TEST(VerdictLine, ATubeThatIsNotThereIsNamed) {
  EXPECT_THAT(line(well, {}, {.ready = Thresholds{0, 0}}, {"typo"}),
              testing::AllOf(HasSubstr("PERENNIAL OK"), HasSubstr("no tube 'typo' now")));
}

TEST(VerdictLine, IsOneLineWithOneBar) {
  const std::string text = verdict_line(no_verdict(Level::Critical, "a|b\nc"));
  EXPECT_EQ(text, "PERENNIAL CRITICAL - a/b c\n");
}

TEST(VerdictJson, HasTheSame) {
  const ServerHealth health =
      judge(reply(well), {tube("b", 1, 2, 601)}, {}, {.buried = Thresholds{1, 5}});
  const auto json = nlohmann::json::parse(verdict_json(health, "here:1"));
  EXPECT_EQ(json["state"], "WARNING");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["server"], "here:1");
  EXPECT_EQ(json["problems"][0]["what"], "tube 'b': buried jobs 2, above 1");
  EXPECT_EQ(json["measures"]["buried"]["critical"], 5);
  EXPECT_EQ(json["measures"]["oldest"]["value"], 601);
  EXPECT_EQ(json["measures"]["oldest"]["tube"], "b");
  EXPECT_TRUE(json["measures"]["oldest"]["warning"].is_null());
}

}  // namespace
}  // namespace perennial::tool
