// The calendar that an engine is given: which function answers for which kind of schedule. The load
// has one of each kind, at and around its times, and zones that are unknown. It is blind to the
// functions themselves, which have tests of their own beside this one.

#include "cmd/common/calendar/system_calendar.h"

#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "engine/types/later.h"

namespace perennial::calendar {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos start = 1'700'000'000 * second;  // 2023-11-14 22:13:20 UTC.

struct NextCase {
  std::string name;
  ScheduleWhen when;
  Nanos after;
  std::optional<Nanos> want;
  bool zone_is_known = true;
};
class SystemCalendarNext : public testing::TestWithParam<NextCase> {};

TEST_P(SystemCalendarNext, IsThatOfItsKind) {
  const Calendar::Next next = SystemCalendar().next_after(GetParam().when, GetParam().after);
  EXPECT_EQ(next.at, GetParam().want);
  EXPECT_EQ(next.zone_is_known, GetParam().zone_is_known);
}

INSTANTIATE_TEST_SUITE_P(
    Calendar, SystemCalendarNext,
    testing::Values(
        NextCase{"Every", ScheduleEvery{10 * second, start}, start, start + 10 * second},
        NextCase{"EveryBetween", ScheduleEvery{10 * second, start}, start + 1, start + 10 * second},
        NextCase{"EveryOfALaterAnchor", ScheduleEvery{10 * second, start}, start - 25 * second,
                 start - 20 * second},
        NextCase{"EveryAtTheEndOfTime", ScheduleEvery{10 * second, start}, last_time, {}},
        NextCase{"Cron", ScheduleCron{"0 23 * * *", "UTC"}, start, start + 2'800 * second},
        NextCase{"CronInAZone", ScheduleCron{"30 23 * * *", "Europe/Berlin"}, start,
                 start + 1'000 * second},
        NextCase{"CronWithoutANext", ScheduleCron{"0 0 * * *", "UTC"}, last_time, {}},
        NextCase{"CronThatIsNone", ScheduleCron{"never", "UTC"}, start, {}},
        NextCase{"UnknownZone", ScheduleCron{"0 0 * * *", "Europe/Atlantis"}, start, {}, false},
        NextCase{"At", ScheduleAt{start}, start - 1, start},
        NextCase{"AtItsTime", ScheduleAt{start}, start, {}},
        NextCase{"AtBehindIt", ScheduleAt{start}, start + 1, {}}),
    [](const auto& each) { return each.param.name; });

// The values are pinned: a schedule that is due at another time after an upgrade could be due twice
// or not at all.
TEST(SystemCalendar, SpreadsNamesOverTheJitterAlwaysInTheSameWay) {
  const SystemCalendar calendar;
  EXPECT_EQ(calendar.offset("nightly", 3600 * second), 2984651202515);
  EXPECT_EQ(calendar.offset("nightly", 1), 0);
  std::set<Nanos> quarters;
  for (int i = 0; i < 100; ++i) {
    const Nanos offset = calendar.offset("job-" + std::to_string(i), 3600 * second);
    EXPECT_GE(offset, 0);
    EXPECT_LT(offset, 3600 * second);
    quarters.insert(offset / (900 * second));
  }
  EXPECT_EQ(quarters.size(), 4u);
}

}  // namespace
}  // namespace perennial::calendar
