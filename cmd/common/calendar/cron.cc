#include "cmd/common/calendar/cron.h"

namespace perennial::calendar {
namespace {

constexpr int months_of_calendar = 400 * 12;

int days_of(absl::CivilMonth month) {
  return static_cast<int>(absl::CivilDay(month + 1) - absl::CivilDay(month));
}

// From Sunday, which is 0.
int day_of_week(absl::CivilDay day) {
  return (static_cast<int>(absl::GetWeekday(day)) + 1) % 7;
}

bool is_weekday(int day_of_week) {
  return day_of_week >= 1 && day_of_week <= 5;
}

// The weekday that is nearest to this day and in its month. A Saturday goes back to Friday, and a
// Sunday on to Monday, unless that is another month.
int nearest_weekday(absl::CivilMonth month, int day) {
  const int week = day_of_week(absl::CivilDay(month) + (day - 1));
  if (week == 6) return day > 1 ? day - 1 : day + 2;
  if (week == 0) return day < days_of(month) ? day + 1 : day - 2;
  return day;
}

// The first bit that is set, not before this one. -1: there is none.
template <size_t size>
int first_bit(const std::bitset<size>& bits, int from) {
  for (size_t i = static_cast<size_t>(from); i < size; ++i)
    if (bits[i]) return static_cast<int>(i);
  return -1;
}

}  // namespace

Cron::DaysOfMonth Cron::by_month(absl::CivilMonth month) const {
  DaysOfMonth found = month_days_.plain;
  const int last = days_of(month);
  for (int before = 0; before < last; ++before)
    if (month_days_.before_last[before]) found.set(last - before);
  for (int day = 1; day <= last; ++day)
    if (month_days_.nearest_weekday_to[day]) found.set(nearest_weekday(month, day));
  if (month_days_.last_weekday) {
    int day = last;
    while (!is_weekday(day_of_week(absl::CivilDay(month) + (day - 1)))) --day;
    found.set(day);
  }
  return found;
}

Cron::DaysOfMonth Cron::by_week(absl::CivilMonth month) const {
  DaysOfMonth found;
  const int last = days_of(month);
  int week = day_of_week(absl::CivilDay(month));
  for (int day = 1; day <= last; ++day, week = (week + 1) % 7) {
    const bool is_last = day + 7 > last;
    if (week_days_.plain[week] || week_days_.nth[(day - 1) / 7][week] ||
        (is_last && week_days_.last[week]))
      found.set(day);
  }
  return found;
}

Cron::DaysOfMonth Cron::days_in(absl::CivilMonth month) const {
  const bool is_both = month_days_.is_any || week_days_.is_any;
  DaysOfMonth days = is_both ? by_month(month) & by_week(month) : by_month(month) | by_week(month);
  for (int day = days_of(month) + 1; day < 32; ++day) days.reset(day);
  return days;
}

std::optional<absl::CivilSecond> Cron::first_on_day(absl::CivilSecond from) const {
  const absl::CivilDay day(from);
  for (int hour = first_bit(hours_, from.hour()); hour >= 0; hour = first_bit(hours_, hour + 1)) {
    const bool is_first_hour = hour == from.hour();
    const int minute_from = is_first_hour ? from.minute() : 0;
    for (int minute = first_bit(minutes_, minute_from); minute >= 0;
         minute = first_bit(minutes_, minute + 1)) {
      const bool is_first_minute = is_first_hour && minute == from.minute();
      const int second = first_bit(seconds_, is_first_minute ? from.second() : 0);
      if (second < 0) continue;
      return absl::CivilSecond(day.year(), day.month(), day.day(), hour, minute, second);
    }
  }
  return std::nullopt;
}

std::optional<absl::CivilSecond> Cron::first_from(absl::CivilSecond from) const {
  const absl::CivilMonth first(from);
  for (absl::CivilMonth month = first; month <= first + months_of_calendar; ++month) {
    if (!months_[month.month()]) continue;
    const DaysOfMonth days = days_in(month);
    const int from_day = month == first ? from.day() : 1;
    for (int day = first_bit(days, from_day); day >= 0; day = first_bit(days, day + 1)) {
      const bool is_first = month == first && day == from.day();
      const absl::CivilSecond begin(absl::CivilDay(month) + (day - 1));
      if (const auto found = first_on_day(is_first ? from : begin)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace perennial::calendar
