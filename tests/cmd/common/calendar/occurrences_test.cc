// At which moments an expression is due, where clocks are put forward and back. Random expressions
// beside a second calendar are in tests/schedules; they have no seconds, and these do.

#include "cmd/common/calendar/occurrences.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "cmd/common/calendar/zone.h"
#include "engine/types/later.h"

namespace perennial::calendar {
namespace {

using testing::ElementsAreArray;

Nanos at(const std::string& text) {
  absl::Time time;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) << text;
  return absl::ToUnixNanos(time);
}

struct DueCase {
  std::string name;
  std::string expression;
  std::string zone;
  std::string after;
  std::vector<std::string> want;
};
void PrintTo(const DueCase& due, std::ostream* out) {
  *out << due.name;
}

class Due : public testing::TestWithParam<DueCase> {};

TEST_P(Due, IsAtTheseMoments) {
  const DueCase& due = GetParam();
  const Result<Cron> cron = Cron::parse(due.expression);
  ASSERT_TRUE(cron.ok()) << cron.status().message();
  const Result<absl::TimeZone> zone = find_zone(due.zone);
  ASSERT_TRUE(zone.ok()) << zone.status().message();
  std::vector<std::string> found;
  std::optional<Nanos> next = at(due.after);
  for (size_t i = 0; i < due.want.size(); ++i) {
    next = next_after(*cron, *zone, *next);
    ASSERT_TRUE(next.has_value());
    found.push_back(absl::FormatTime(absl::RFC3339_full, absl::FromUnixNanos(*next), *zone));
  }
  EXPECT_THAT(found, ElementsAreArray(due.want));
}

INSTANTIATE_TEST_SUITE_P(
    Clocks, Due,
    testing::Values(DueCase{"EveryDay",
                            "0 6 * * *",
                            "Asia/Kolkata",
                            "2026-01-01T06:00:00+05:30",
                            {"2026-01-02T06:00:00+05:30", "2026-01-03T06:00:00+05:30"}},
                    DueCase{"APartOfASecondLater",
                            "0 6 * * *",
                            "UTC",
                            "2026-01-01T05:59:59.999999999Z",
                            {"2026-01-01T06:00:00+00:00"}},
                    DueCase{"ATimeThatDoesNotExist",
                            "30 2 * * *",
                            "Europe/Berlin",
                            "2026-03-28T02:30:00+01:00",
                            {"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
                    DueCase{"SeveralTimesThatDoNotExist",
                            "*/10 2,3 * * *",
                            "Europe/Berlin",
                            "2026-03-29T01:59:59+01:00",
                            {"2026-03-29T03:00:00+02:00", "2026-03-29T03:10:00+02:00"}},
                    DueCase{"ATimeThatComesTwice",
                            "30 2 * * *",
                            "Europe/Berlin",
                            "2026-10-24T02:30:00+02:00",
                            {"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
                    DueCase{"AskedBetweenBoth",
                            "30 2 * * *",
                            "Europe/Berlin",
                            "2026-10-25T02:10:00+01:00",
                            {"2026-10-26T02:30:00+01:00"}},
                    DueCase{"SecondsThatComeTwice",
                            "*/30 59 2 * * *",
                            "Europe/Berlin",
                            "2026-10-25T02:59:00+02:00",
                            {"2026-10-25T02:59:30+02:00", "2026-10-26T02:59:00+01:00"}},
                    DueCase{"EveryHourWhereOneIsLeftOut",
                            "0 * * * *",
                            "Europe/Berlin",
                            "2026-03-29T01:00:00+01:00",
                            {"2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"}},
                    DueCase{"HalfPastWhereThatIsLeftOut",
                            "30 * * * *",
                            "Europe/Berlin",
                            "2026-03-29T01:30:00+01:00",
                            {"2026-03-29T03:30:00+02:00"}},
                    DueCase{"EveryHourWhereOneComesTwice",
                            "0 * * * *",
                            "Europe/Berlin",
                            "2026-10-25T01:00:00+02:00",
                            {"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00",
                             "2026-10-25T03:00:00+01:00"}},
                    // Half an hour.
                    DueCase{"LordHoweForward",
                            "15 2 * * *",
                            "Australia/Lord_Howe",
                            "2026-10-03T02:15:00+10:30",
                            {"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
                    DueCase{"LordHoweBack",
                            "*/15 * * * *",
                            "Australia/Lord_Howe",
                            "2026-04-05T01:30:00+11:00",
                            {"2026-04-05T01:45:00+11:00", "2026-04-05T01:30:00+10:30",
                             "2026-04-05T01:45:00+10:30", "2026-04-05T02:00:00+10:30"}},
                    // At midnight, so that the day begins at one.
                    DueCase{"SantiagoForward",
                            "@daily",
                            "America/Santiago",
                            "2026-09-05T00:00:00-04:00",
                            {"2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00"}},
                    DueCase{"SantiagoBack",
                            "30 23 * * *",
                            "America/Santiago",
                            "2026-04-03T23:30:00-03:00",
                            {"2026-04-04T23:30:00-03:00", "2026-04-05T23:30:00-04:00"}},
                    // A day that there was not: the clocks went from the 29th to the 31st.
                    DueCase{"ApiaWithoutADay",
                            "0 9 30 12 *",
                            "Pacific/Apia",
                            "2011-12-29T10:00:00-10:00",
                            {"2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"}}),
    [](const auto& one) { return one.param.name; });

TEST(NextAfter, HasAnEnd) {
  const Result<Cron> cron = Cron::parse("0 0 1 1 *");
  EXPECT_EQ(next_after(*cron, absl::UTCTimeZone(), last_time), std::nullopt);
  EXPECT_EQ(next_after(*Cron::parse("0 * * * *"), absl::UTCTimeZone(), last_time), std::nullopt);
}

TEST(NextAfter, IsWholePeriodsFromTheAnchor) {
  struct Case {
    Nanos period, anchor, after;
    std::optional<Nanos> want;
  };
  for (const Case& c :
       {Case{10, 3, 0, 3}, Case{10, 3, 3, 13}, Case{10, 3, 12, 13}, Case{10, 3, 13, 23},
        Case{10, 35, 0, 5}, Case{10, 35, 5, 15}, Case{10, 35, 34, 35}, Case{10, 30, 0, 10},
        Case{1, 0, 7, 8}, Case{last_time, 0, 7, last_time}, Case{last_time, 1, 7, std::nullopt},
        Case{10, 0, last_time, std::nullopt}}) {
    EXPECT_EQ(next_after(c.period, c.anchor, c.after), c.want)
        << c.period << " " << c.anchor << " " << c.after;
  }
}

TEST(Zone, IsOneOfTheSystem) {
  EXPECT_TRUE(find_zone("Europe/Berlin").ok());
  EXPECT_TRUE(find_zone("Etc/GMT+12").ok());
  for (const char* const none :
       {"", "Mars/Olympus", "localtime", "/etc/localtime", "../etc/passwd",
        "Europe/../Europe/Berlin", "file:Europe/Berlin", "europe/berlin "}) {
    const auto zone = find_zone(none);
    ASSERT_FALSE(zone.ok()) << none;
    EXPECT_EQ(zone.status().code(), StatusCode::NotFound);
  }
}

TEST(Zone, HasAVersion) {
  EXPECT_GE(tzdata_version(), "2020a");
}

}  // namespace
}  // namespace perennial::calendar
