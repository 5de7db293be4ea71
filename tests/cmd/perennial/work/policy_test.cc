// What becomes of a job, what is said of it, and what its command is told: without a process.

#include "cmd/perennial/work/policy.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/work/job.h"
#include "cmd/perennial/work/log_line.h"
#include "cmd/perennial/work/work.h"

namespace perennial::tool::work {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, IsReadFromOneOrTwoNumbers) {
  struct Case {
    const char* text;
    uint32_t first_s;
    uint32_t cap_s;
  };
  for (const Case& c :
       {Case{"10", 10, 3600}, Case{"10:60", 10, 60}, Case{"0:0", 0, 0}, Case{"7200", 7200, 7200},
        Case{"5:5", 5, 5}, Case{"1:4294967295", 1, 4294967295}, Case{"10s:1h30m", 10, 5400}}) {
    const Result<work::Backoff> backoff = parse_backoff(c.text);
    ASSERT_TRUE(backoff.ok()) << c.text;
    EXPECT_EQ(backoff->first_s, c.first_s) << c.text;
    EXPECT_EQ(backoff->cap_s, c.cap_s) << c.text;
  }
  for (const char* text : {"", ":", "10:", ":10", "10:5", "-1", "250ms", "1:2:3", "4294967296"}) {
    const Result<work::Backoff> backoff = parse_backoff(text);
    ASSERT_FALSE(backoff.ok()) << text;
    EXPECT_EQ(backoff.status().code(), StatusCode::InvalidArgument) << text;
  }
}

TEST(Backoff, DoublesUpToItsCap) {
  struct Case {
    work::Backoff backoff;
    uint64_t failures;
    uint32_t delay_s;
  };
  for (const Case& c : {Case{{10, 3600}, 1, 10}, Case{{10, 3600}, 2, 20}, Case{{10, 3600}, 9, 2560},
                        Case{{10, 3600}, 10, 3600}, Case{{10, 3600}, ~uint64_t{0}, 3600},
                        Case{{0, 3600}, ~uint64_t{0}, 0}, Case{{5, 5}, 3, 5},
                        Case{{4294967295, 4294967295}, 2, 4294967295},
                        Case{{2147483648, 4294967295}, 2, 4294967295}}) {
    EXPECT_EQ(delay_after(c.backoff, c.failures), c.delay_s)
        << c.backoff.first_s << " after " << c.failures;
  }
}

TEST(BuryOn, IsAListOfExitStatuses) {
  EXPECT_EQ(*parse_statuses(""), std::vector<int>());
  EXPECT_EQ(*parse_statuses("65"), std::vector<int>{65});
  EXPECT_EQ(*parse_statuses("1,255,64"), (std::vector<int>{1, 255, 64}));
  for (const char* text : {"0", "256", ",", "1,", ",1", "a", "1;2", "-1"})
    EXPECT_FALSE(parse_statuses(text).ok()) << text;
}

struct JudgeCase {
  const char* name;
  Ending ending;
  uint64_t failures_before;
  Outcome outcome;
  uint32_t delay_s;
};

class Judge : public testing::TestWithParam<JudgeCase> {};

TEST_P(Judge, DecidesByTheEnding) {
  const Policy policy{.backoff = {.first_s = 10, .cap_s = 60}, .tries_max = 5, .bury_on = {64, 65}};
  const Verdict verdict = judge(policy, GetParam().ending, GetParam().failures_before);
  EXPECT_EQ(verdict.outcome, GetParam().outcome);
  EXPECT_EQ(verdict.delay_s, GetParam().delay_s);
}

INSTANTIATE_TEST_SUITE_P(
    Work, Judge,
    testing::Values(
        JudgeCase{"SuccessDeletes", {}, 0, Outcome::Deleted, 0},
        JudgeCase{"SuccessDeletesAfterManyFailures", {}, 99, Outcome::Deleted, 0},
        JudgeCase{"FailureReleases", {.status = 1}, 0, Outcome::Released, 10},
        JudgeCase{"FourthFailureWaitsForTheCap", {.status = 1}, 3, Outcome::Released, 60},
        JudgeCase{"LastTryBuries", {.status = 1}, 4, Outcome::Buried, 0},
        JudgeCase{"MoreThanAllTriesBury", {.status = 1}, 9, Outcome::Buried, 0},
        JudgeCase{"NamedStatusBuries", {.status = 65}, 0, Outcome::Buried, 0},
        JudgeCase{"SignalReleases", {.signal = 11}, 1, Outcome::Released, 20},
        JudgeCase{"SignalIsNoStatus", {.status = 65, .signal = 9}, 0, Outcome::Released, 10},
        JudgeCase{
            "TimeoutReleases", {.cause = Cause::TimedOut, .signal = 15}, 0, Outcome::Released, 10},
        JudgeCase{
            "TimeoutWithSuccessReleases", {.cause = Cause::TimedOut}, 0, Outcome::Released, 10},
        JudgeCase{"TimeoutOfTheLastTryBuries", {.cause = Cause::TimedOut}, 4, Outcome::Buried, 0},
        JudgeCase{"NotStartedReleases",
                  {.cause = Cause::NotStarted, .status = 127},
                  0,
                  Outcome::Released,
                  10},
        JudgeCase{"NoProgramReleasesWithoutDelay",
                  {.cause = Cause::NoProgram, .status = 127},
                  4,
                  Outcome::Released,
                  0},
        JudgeCase{"StoppedReleasesWithoutDelay",
                  {.cause = Cause::Stopped, .status = 65},
                  4,
                  Outcome::Released,
                  0},
        JudgeCase{"LostIsLost", {.cause = Cause::Lost}, 4, Outcome::Lost, 0}),
    [](const auto& param) { return param.param.name; });

TEST(Judge, WithoutTriesAFailureNeverBuries) {
  EXPECT_EQ(judge({}, {.status = 1}, 1'000'000).outcome, Outcome::Released);
}

TEST(Command, HasTheIdInPlaceOfBraces) {
  const std::vector<std::string> command = {"./h", "{}", "--id={}/{}", "{", "{ }"};
  EXPECT_EQ(command_for(command, 12),
            (std::vector<std::string>{"./h", "12", "--id=12/12", "{", "{ }"}));
  EXPECT_EQ(command_text({"sh", "-c", "exit 1", ""}), R"(sh -c "exit 1" "")");
}

TEST(Command, IsToldOfItsJobInTheEnvironment) {
  EXPECT_EQ(
      environment_of({.id = 12, .tube = "mail", .ttr_s = 60, .attempt = 3}),
      (std::vector<std::string>{"PERENNIAL_JOB_ID=12", "PERENNIAL_TUBE=mail", "PERENNIAL_ATTEMPT=3",
                                "PERENNIAL_TTR=60", "PERENNIAL_SCHEDULE=", "PERENNIAL_PLANNED="}));
}

TEST(LogLine, NamesJobOutcomeAndReason) {
  const Job job{.id = 12, .tube = "mail"};
  EXPECT_EQ(log_line(LogFormat::Logfmt, job_fields(job, {}, {}, milliseconds(1234))),
            "level=info at=work.job job=12 tube=mail outcome=deleted status=0 seconds=1.234");
  const LogFields timed_out =
      job_fields(job, {.outcome = Outcome::Released, .delay_s = 20},
                 {.cause = Cause::TimedOut, .signal = 15}, milliseconds(60'005));
  EXPECT_EQ(log_line(LogFormat::Logfmt, timed_out),
            "level=warning at=work.job job=12 tube=mail outcome=released signal=15 seconds=60.005 "
            "delay=20 why=timeout");
  EXPECT_EQ(log_line(LogFormat::Json, timed_out),
            R"({"level":"warning","at":"work.job","job":12,"tube":"mail","outcome":"released",)"
            R"("signal":15,"seconds":60.005,"delay":20,"why":"timeout"})");
}

TEST(LogLine, QuotesWhatWouldBreakIt) {
  const std::string odd = "a \"b\"\n\xff\x1b";
  EXPECT_EQ(log_line(LogFormat::Logfmt, {{"error", odd}, {"none", ""}, {"tube", "a/b"}}),
            R"(error="a \"b\"\n\xff\x1b" none="" tube=a/b)");
  const auto json = nlohmann::json::parse(log_line(LogFormat::Json, {{"error", odd}}));
  EXPECT_EQ(json["error"], "a \"b\"\n\xef\xbf\xbd\x1b");
}

TEST(WorkOptions, AreCheckedBeforeAnythingRuns) {
  const WorkOptions good{.command = {"true"}, .tubes = {"mail"}};
  ASSERT_TRUE(work_settings(good).ok());
  const auto wrong = [&](auto&& change) {
    WorkOptions options = good;
    change(options);
    const Result<Settings> settings = work_settings(options);
    return !settings.ok() && settings.status().code() == StatusCode::InvalidArgument;
  };
  EXPECT_TRUE(wrong([](WorkOptions& options) { options.command = {}; }));
  EXPECT_TRUE(wrong([](WorkOptions& options) { options.command = {""}; }));
  EXPECT_TRUE(wrong([](WorkOptions& options) { options.tubes = {"mail", "-mail"}; }));
  EXPECT_TRUE(wrong([](WorkOptions& options) { options.backoff = "fast"; }));
  EXPECT_TRUE(wrong([](WorkOptions& options) { options.bury_on = "0"; }));
  EXPECT_TRUE(wrong([](WorkOptions& options) {
    options.once = true;
    options.max = 2;
  }));
}

}  // namespace
}  // namespace perennial::tool::work
