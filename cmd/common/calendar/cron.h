#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string_view>

#include "absl/time/civil_time.h"
#include "engine/types/status.h"

// When a schedule is due, as crontab(5) writes it.
namespace perennial::calendar {

// The seconds of the calendar at which an expression is due, in no zone. occurrences.h says which
// moments these are.
//
// Five fields: minute (0-59), hour (0-23), day of the month (1-31), month (1-12, jan-dec), day of
// the week (0-7, sun-sat; 0 and 7 are Sunday). With six fields the first one is the second (0-59).
// A field is a list of `*`, `A`, `A-B`, `*/STEP`, `A-B/STEP` and `A/STEP`, which goes from A to the
// end. Small and large letters are the same. `?` is `*` in both fields of days.
//
// A day must be in both fields of days if one of them begins with `*` or `?`, and else in one of
// them: crontab(5).
//
// As in Quartz, the day of the month can be `L`, the last day; `L-N`, N days before it; `NW`, the
// weekday (Monday to Friday) of that month which is nearest to day N; and `LW`, the last weekday.
// The day of the week can be `DL`, the last such day of the month, and `D#N`, the N-th (1-5).
//
// One word stands for all fields: @yearly, @annually, @monthly, @weekly, @daily, @midnight,
// @hourly.
class Cron {
 public:
  // InvalidArgument: it is none of this, or no day of the calendar is meant, as with `0 0 30 2 *`.
  static Result<Cron> parse(std::string_view text);

  // The first second that is meant, not before this one. None: there is none in 400 years, in which
  // the calendar repeats itself.
  std::optional<absl::CivilSecond> first_from(absl::CivilSecond from) const;

  // Whether every hour of the day is meant: then the expression is about a part of each hour, and
  // not about hours.
  bool has_all_hours() const { return hours_.all(); }

 private:
  friend class CronParser;
  using DaysOfMonth = std::bitset<32>;  // From 1.
  using DaysOfWeek = std::bitset<7>;    // From Sunday.

  struct MonthDays {
    DaysOfMonth plain;
    std::bitset<31> before_last;     // `L` is 0, and `L-N` is N.
    DaysOfMonth nearest_weekday_to;  // Each `NW`.
    bool last_weekday = false;       // `LW`.
    bool is_any = false;             // The field begins with `*` or `?`.
  };
  struct WeekDays {
    DaysOfWeek plain;
    DaysOfWeek last;                     // `DL`.
    std::array<DaysOfWeek, 5> nth = {};  // `D#N` at N - 1.
    bool is_any = false;
  };

  DaysOfMonth days_in(absl::CivilMonth month) const;
  DaysOfMonth by_month(absl::CivilMonth month) const;
  DaysOfMonth by_week(absl::CivilMonth month) const;
  // The first second of the day that is meant, not before this one.
  std::optional<absl::CivilSecond> first_on_day(absl::CivilSecond from) const;

  std::bitset<60> seconds_;
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<13> months_;  // From 1.
  MonthDays month_days_;
  WeekDays week_days_;
};

}  // namespace perennial::calendar
