// What a cron expression means, in a calendar without zones. The cases are those of the manuals of
// others: crontab(5) of Debian, and Quartz. Random expressions beside a second calendar are in
// tests/schedules.

#include "cmd/common/calendar/cron.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/civil_time.h"

namespace perennial::calendar {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

struct MeaningCase {
  std::string expression;
  absl::CivilSecond from;
  std::vector<absl::CivilSecond> want;
};

class Meaning : public testing::TestWithParam<MeaningCase> {};

TEST_P(Meaning, IsWhatTheManualSays) {
  const Result<Cron> cron = Cron::parse(GetParam().expression);
  ASSERT_TRUE(cron.ok()) << cron.status().message();
  std::vector<absl::CivilSecond> found;
  absl::CivilSecond from = GetParam().from;
  while (found.size() < GetParam().want.size()) {
    const auto next = cron->first_from(from);
    ASSERT_TRUE(next.has_value());
    found.push_back(*next);
    from = *next + 1;
  }
  EXPECT_THAT(found, ElementsAreArray(GetParam().want)) << GetParam().expression;
}

using At = absl::CivilSecond;

INSTANTIATE_TEST_SUITE_P(
    Crontab, Meaning,
    testing::Values(
        // Five minutes after midnight, every day.
        MeaningCase{"5 0 * * *", At(2026, 1, 1), {At(2026, 1, 1, 0, 5), At(2026, 1, 2, 0, 5)}},
        // 2:15 pm on the first of each month.
        MeaningCase{
            "15 14 1 * *", At(2026, 1, 31), {At(2026, 2, 1, 14, 15), At(2026, 3, 1, 14, 15)}},
        // 10 pm on weekdays.
        MeaningCase{"0 22 * * 1-5", At(2026, 1, 2, 22, 0, 1), {At(2026, 1, 5, 22)}},
        MeaningCase{"23 0-23/2 * * *",
                    At(2026, 1, 1, 22, 24),
                    {At(2026, 1, 2, 0, 23), At(2026, 1, 2, 2, 23)}},
        MeaningCase{"5 4 * * sun", At(2026, 1, 1), {At(2026, 1, 4, 4, 5)}},
        MeaningCase{"5 4 * * 7", At(2026, 1, 1), {At(2026, 1, 4, 4, 5)}},
        // A day that is in one of the two fields: the 1st, the 15th, and each Friday.
        MeaningCase{"30 4 1,15 * 5",
                    At(2026, 1, 1),
                    {At(2026, 1, 1, 4, 30), At(2026, 1, 2, 4, 30), At(2026, 1, 9, 4, 30),
                     At(2026, 1, 15, 4, 30)}},
        // A field that begins with a star: a day must be in both.
        MeaningCase{"0 0 */2 * sat",
                    At(2026, 1, 1),
                    {At(2026, 1, 3), At(2026, 1, 17), At(2026, 1, 31), At(2026, 2, 7)}},
        MeaningCase{"0 12 ? * MON", At(2026, 1, 1), {At(2026, 1, 5, 12)}},
        MeaningCase{"0 12 1 JAN-mar ?",
                    At(2026, 1, 2),
                    {At(2026, 2, 1, 12), At(2026, 3, 1, 12), At(2027, 1, 1, 12)}},
        MeaningCase{
            "*/20 * * * *", At(2026, 12, 31, 23, 41), {At(2027, 1, 1), At(2027, 1, 1, 0, 20)}},
        MeaningCase{"0-10/5,57 3 * * *",
                    At(2026, 1, 1),
                    {At(2026, 1, 1, 3), At(2026, 1, 1, 3, 5), At(2026, 1, 1, 3, 10),
                     At(2026, 1, 1, 3, 57)}},
        MeaningCase{"0 0 * * fri-sun",
                    At(2026, 1, 1),
                    {At(2026, 1, 2), At(2026, 1, 3), At(2026, 1, 4), At(2026, 1, 9)}},
        MeaningCase{"0 0 29 2 *", At(2026, 1, 1), {At(2028, 2, 29), At(2032, 2, 29)}},
        MeaningCase{"@yearly", At(2026, 1, 1, 0, 0, 1), {At(2027, 1, 1)}},
        MeaningCase{"@annually", At(2026, 5, 1), {At(2027, 1, 1)}},
        MeaningCase{" @Monthly ", At(2026, 1, 2), {At(2026, 2, 1)}},
        MeaningCase{"@weekly", At(2026, 1, 1), {At(2026, 1, 4)}},
        MeaningCase{"@daily", At(2026, 1, 1, 0, 0, 1), {At(2026, 1, 2)}},
        MeaningCase{"@midnight", At(2026, 1, 1, 0, 0, 1), {At(2026, 1, 2)}},
        MeaningCase{"@hourly", At(2026, 1, 1, 0, 0, 1), {At(2026, 1, 1, 1)}}));

INSTANTIATE_TEST_SUITE_P(
    Quartz, Meaning,
    testing::Values(
        // Seconds.
        MeaningCase{"*/15 * * * * *",
                    At(2026, 1, 1, 23, 59, 46),
                    {At(2026, 1, 2), At(2026, 1, 2, 0, 0, 15)}},
        MeaningCase{"10 0/5 14,18 * * ?", At(2026, 1, 1, 14, 55, 11), {At(2026, 1, 1, 18, 0, 10)}},
        // A number with a step goes to the end of the field.
        MeaningCase{"0 20/20 * * * *",
                    At(2026, 1, 1),
                    {At(2026, 1, 1, 0, 20), At(2026, 1, 1, 0, 40), At(2026, 1, 1, 1, 20)}},
        MeaningCase{"0 0 L * *",
                    At(2026, 1, 31, 0, 0, 1),
                    {At(2026, 2, 28), At(2026, 3, 31), At(2026, 4, 30)}},
        MeaningCase{"0 0 L-2 2 *", At(2028, 1, 1), {At(2028, 2, 27)}},
        // L-30 is the first of a month with 31 days, and no day of another.
        MeaningCase{"0 0 L-30 * *", At(2026, 2, 1), {At(2026, 3, 1), At(2026, 5, 1)}},
        MeaningCase{
            "0 0 LW * *", At(2026, 1, 1), {At(2026, 1, 30), At(2026, 2, 27), At(2026, 3, 31)}},
        // The 15th is a Saturday in August and a Sunday in November.
        MeaningCase{"0 0 15W 8,11 *", At(2026, 1, 1), {At(2026, 8, 14), At(2026, 11, 16)}},
        // The first is a Saturday: not a day of July. The 31st is a Sunday: not a day of June.
        MeaningCase{"0 0 1W 8 *", At(2026, 1, 1), {At(2026, 8, 3)}},
        MeaningCase{"0 0 31W 5 *", At(2026, 1, 1), {At(2026, 5, 29)}},
        // A month without that day is left out.
        MeaningCase{"0 0 31W * *", At(2026, 6, 1), {At(2026, 7, 31)}},
        MeaningCase{"0 0 * * 5L", At(2026, 1, 1), {At(2026, 1, 30), At(2026, 2, 27)}},
        MeaningCase{"0 0 * * 7L", At(2026, 1, 1), {At(2026, 1, 25)}},
        MeaningCase{"0 0 * * FRI#3", At(2026, 1, 1), {At(2026, 1, 16), At(2026, 2, 20)}},
        // A month without a fifth one is left out.
        MeaningCase{"0 0 * * MON#5", At(2026, 1, 1), {At(2026, 3, 30), At(2026, 6, 29)}},
        MeaningCase{
            "0 0 L,1,15W * *", At(2026, 8, 1), {At(2026, 8, 1), At(2026, 8, 14), At(2026, 8, 31)}},
        MeaningCase{"0 0 * * MON#1,5L", At(2026, 1, 1), {At(2026, 1, 5), At(2026, 1, 30)}}));

struct WrongCase {
  std::string expression;
  std::string why;
};

TEST(Cron, WhatIsNoneIsRefused) {
  const WrongCase cases[] = {
      {"", "0 fields"},
      {"* * * *", "4 fields"},
      {"* * * * * * *", "7 fields"},
      {"60 * * * *", "minute: '60' is not understood: a number from 0 to 59"},
      {"* 24 * * *", "hour: '24'"},
      {"* * 0 * *", "day of the month: '0'"},
      {"* * 32 * *", "day of the month: '32'"},
      {"* * * 13 *", "month: '13'"},
      {"* * * foo *", "or a name from jan to dec"},
      {"* * * * 8", "day of the week: '8'"},
      {"* * * * funday", "or a name from sun to sat"},
      {"60 * * * * *", "second: '60'"},
      {"5-1 * * * *", "minute: '5-1' ends before it begins"},
      {"* * * * sat-mon", "'sat-mon' ends before it begins"},
      {"*/0 * * * *", "has no step of at least 1"},
      {"*/ * * * *", "has no step of at least 1"},
      {"*/x * * * *", "has no step of at least 1"},
      {"*/-1 * * * *", "has no step of at least 1"},
      {"*/99999999999999999999 * * * *", "has no step of at most 9999"},
      {"1,,2 * * * *", "minute: '' is not understood"},
      {"-1 * * * *", "minute: '-1' is not understood"},
      {"+1 * * * *", "minute: '+1' is not understood"},
      {"1-2-3 * * * *", "minute: '1-2-3' is not understood"},
      {"? * * * *", "minute: '?' is not understood"},
      {"l * * * *", "minute: 'l' is not understood"},
      {"* * * * L", "needs a day before it"},
      {"* * * * 1#6", "has no number from 1 to 5 behind #"},
      {"* * * * 1#", "has no number from 1 to 5 behind #"},
      {"* * * * #1", "day of the week: '#1'"},
      {"* * 0W * *", "is not 1W to 31W"},
      {"* * W * *", "is not 1W to 31W"},
      {"* * L-31 * *", "is not L-1 to L-30"},
      {"* * L- * *", "is not L-1 to L-30"},
      {"0 0 30 2 *", "no day of the calendar is meant"},
      {"0 0 31 4,6,9,11 *", "no day of the calendar is meant"},
      {"@reboot", "'@reboot' is not known"},
      {"@", "'@' is not known"},
      {"@daily x", "'@daily x': a word that begins with @ stands alone"},
      {"TZ=Europe/Berlin 0 3 * * *", "'tz=europe/berlin' is no field: a time zone is said beside"},
      {"\x1b[31m * * * *", "minute: '\\x1b[31m' is not"},
      {"\xff * * * *", "minute: "},
      {"99999999999999999999 * * * *", "minute: "},
      {std::string(501, '1'), "at most 500 bytes"},
  };
  for (const WrongCase& each : cases) {
    const Result<Cron> cron = Cron::parse(each.expression);
    ASSERT_FALSE(cron.ok()) << each.expression;
    EXPECT_EQ(cron.status().code(), StatusCode::InvalidArgument);
    EXPECT_THAT(cron.status().message(), HasSubstr(each.why)) << each.expression;
  }
}

TEST(Cron, HasAllHoursHoweverTheyAreWritten) {
  for (const char* const all :
       {"0 * * * *", "5 0-23 * * *", "5 */1 * * *", "0 0-11,12-23 * * *", "@hourly"})
    EXPECT_TRUE(Cron::parse(all)->has_all_hours()) << all;
  for (const char* const some : {"0 */2 * * *", "5 0-22 * * *", "@daily"})
    EXPECT_FALSE(Cron::parse(some)->has_all_hours()) << some;
}

}  // namespace
}  // namespace perennial::calendar
