#include "cmd/perenniald/server/clock_check.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

using Verdict = ClockCheck::Verdict;
using testing::HasSubstr;

constexpr Nanos second = nanos_per_second;
constexpr Nanos day = 86'400 * second;
constexpr Nanos last = 20'000 * day;
constexpr ClockBounds bounds = {.behind_max = 60 * second, .ahead_max = 60 * day};

JobRow delayed_until(Nanos at) {
  return {.id = 1, .state = JobState::Delayed, .ttr_s = 1, .order = static_cast<uint64_t>(at)};
}

struct BoundCase {
  std::string name;
  Nanos clock;
  Verdict alone;  // Where nothing ends.
  Verdict ending;
};
class Bounds : public testing::TestWithParam<BoundCase> {};

TEST_P(Bounds, DecideByTheDistance) {
  ClockCheck check(last, GetParam().clock);
  EXPECT_EQ(check.verdict(bounds), GetParam().alone);
  check.job(delayed_until(last + 1));
  EXPECT_EQ(check.verdict(bounds), GetParam().ending);
}

INSTANTIATE_TEST_SUITE_P(
    Clock, Bounds,
    testing::Values(
        BoundCase{"Same", last, Verdict::Fits, Verdict::Fits},
        BoundCase{"AMinuteBehind", last - 60 * second, Verdict::Fits, Verdict::Fits},
        BoundCase{"MoreBehind", last - 60 * second - 1, Verdict::Behind, Verdict::Behind},
        BoundCase{"AtTheEpoch", 0, Verdict::Behind, Verdict::Behind},
        BoundCase{"ADayAhead", last + day, Verdict::Fits, Verdict::Fits},
        BoundCase{"MoreThanADayAhead", last + day + 1, Verdict::Ahead, Verdict::Ahead},
        BoundCase{"AtTheBound", last + 60 * day, Verdict::Ahead, Verdict::Ahead},
        BoundCase{"PastTheBound", last + 60 * day + 1, Verdict::Ahead, Verdict::Refused}),
    [](const testing::TestParamInfo<BoundCase>& one) { return one.param.name; });

TEST(ClockCheck, AnEmptyDirectoryFitsAnyClock) {
  EXPECT_EQ(ClockCheck(0, 100'000 * day).verdict(bounds), Verdict::Fits);
}

TEST(ClockCheck, GoesOnIfAskedTo) {
  ClockCheck check(last, last + 1000 * day);
  check.job(delayed_until(last + 1));
  EXPECT_EQ(check.verdict({.ahead_max = 60 * day, .is_accepted = true}), Verdict::Ahead);
  EXPECT_EQ(check.verdict({.ahead_max = 0}), Verdict::Fits);
}

TEST(ClockCheck, RefusesWhereOnlyEndedJobsWouldGo) {
  ClockCheck check(last, last + 61 * day);
  check.ended(1, 61 * day + 1);
  EXPECT_EQ(check.verdict(bounds), Verdict::Ahead);
  check.ended(1, day);
  EXPECT_EQ(check.verdict(bounds), Verdict::Refused);
}

TEST(ClockCheck, CountsWhatEndsBetweenTheTwoTimes) {
  const Nanos clock = last + 100 * day;
  ClockCheck check(last, clock);
  for (const Nanos at : {last - 1, last, last + 1, clock, clock + 1}) {
    check.job(delayed_until(at));
    check.key({.tube = "t", .key = "k", .job = 1, .until = {}, .expires_at = at});
    check.pause({.tube = 0, .pause = 1, .until = at});
    for (const JobState state : {JobState::Ready, JobState::Reserved, JobState::Buried}) {
      JobRow row = {.id = 1, .state = state, .ttr_s = 1};
      row.fields.make().expires_at = at;
      check.job(row);
    }
  }
  check.key({.tube = "t", .key = "held", .job = 1, .until = {}, .expires_at = 0});
  check.ended(5, 100 * day);
  check.ended(7, 100 * day + 1);
  check.ended(8, std::nullopt);
  EXPECT_EQ(check.ends_text(),
            "jobs that expire: 4, keys that end: 2, delays that end: 2, pauses that end: 2, "
            "ended jobs that go: 5");
  EXPECT_EQ(check.verdict(bounds), Verdict::Refused);
  const std::string why = check.refusal(bounds);
  EXPECT_THAT(why, HasSubstr("the clock says 2025-01-12T00:00:00Z, 100 days after"));
  EXPECT_THAT(why, HasSubstr("of 2024-10-04T00:00:00Z"));
  EXPECT_THAT(why, HasSubstr("60 days (clock_ahead_days_max)"));
  EXPECT_THAT(why, HasSubstr("jobs that expire: 4"));
  EXPECT_THAT(why, HasSubstr("--accept-clock"));
}

}  // namespace
}  // namespace perennial::perenniald
