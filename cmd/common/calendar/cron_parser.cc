#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cmd/common/calendar/cron.h"
#include "cmd/common/characters.h"
#include "cmd/common/list.h"

// Reads the expressions of cron.h.
namespace perennial::calendar {
namespace {

constexpr size_t bytes_max = 500;

struct Field {
  const char* name;
  int least;
  int most;
  std::span<const std::string_view> names;  // From `least` on.
};

constexpr std::string_view month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                            "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

constexpr Field second_field = {"second", 0, 59, {}};
constexpr Field minute_field = {"minute", 0, 59, {}};
constexpr Field hour_field = {"hour", 0, 23, {}};
constexpr Field month_day_field = {"day of the month", 1, 31, {}};
constexpr Field month_field = {"month", 1, 12, month_names};
constexpr Field week_day_field = {"day of the week", 0, 7, day_names};

constexpr std::pair<std::string_view, std::string_view> words[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"}};

Status wrong(const Field& field, std::string_view item, std::string_view why) {
  return {StatusCode::InvalidArgument,
          fmt::format("{}: '{}' {}", field.name, common::printable(item), why)};
}

bool is_any(std::string_view text) {
  return text.starts_with('*') || text.starts_with('?');
}

// Digits, and no sign before them.
std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const bool is_number = !text.empty() && text.size() <= 4 && absl::ascii_isdigit(text[0]) &&
                         absl::SimpleAtoi(std::string(text), &number);
  return is_number ? std::optional(number) : std::nullopt;
}

// A number of a field, or a name. None: it is neither.
std::optional<int> number_in(const Field& field, std::string_view text) {
  for (size_t i = 0; i < field.names.size(); ++i)
    if (field.names[i] == text) return field.least + static_cast<int>(i);
  const std::optional<int> number = number_of(text);
  return number && *number >= field.least && *number <= field.most ? number : std::nullopt;
}

Status no_number(const Field& field, std::string_view item) {
  const std::string names =
      field.names.empty()
          ? std::string()
          : fmt::format(", or a name from {} to {}", field.names.front(), field.names.back());
  return wrong(
      field, item,
      fmt::format("is not understood: a number from {} to {}{}", field.least, field.most, names));
}

// What `A`, `A-B`, `*` with a step or without means: each number goes to `set`.
template <typename Set>
Status read_range(const Field& field, std::string_view item, Set set) {
  const size_t slash = item.find('/');
  const std::string_view range = item.substr(0, slash);
  int step = 1;
  if (slash != std::string_view::npos) {
    const std::string_view digits = item.substr(slash + 1);
    const bool is_too_large =
        digits.size() > 4 && digits.find_first_not_of("0123456789") == digits.npos;
    step = number_of(digits).value_or(0);
    if (step < 1) {
      return wrong(field, item,
                   is_too_large ? "has no step of at most 9999" : "has no step of at least 1");
    }
  }
  int first = field.least;
  int last = field.most;
  if (range != "*") {
    const size_t dash = range.find('-');
    const auto from = number_in(field, range.substr(0, dash));
    if (!from) return no_number(field, item);
    first = *from;
    if (dash != std::string_view::npos) {
      const auto to = number_in(field, range.substr(dash + 1));
      if (!to) return no_number(field, item);
      const bool is_to_sunday = field.names.data() == day_names && *to == 0 && first > 0;
      last = is_to_sunday ? 7 : *to;
    } else if (slash == std::string_view::npos) {
      last = first;
    }
  }
  if (first > last) return wrong(field, item, "ends before it begins: write two ranges");
  for (int number = first; number <= last; number += step) set(number);
  return {};
}

// Up to the first item that is wrong.
template <typename Read>
Status read_items(std::string_view text, Read read) {
  for (const std::string_view item : common::list_items(text))
    if (Status s = read(item); !s.ok()) return s;
  return {};
}

}  // namespace

class CronParser {
 public:
  Status read(std::string_view text);
  Cron take() const { return cron_; }

 private:
  template <size_t size>
  static Status read_bits(const Field& field, std::string_view text, std::bitset<size>& bits);
  // A field of days. `any`: it begins with `*` or `?`.
  Status read_days(std::string_view text, bool& any,
                   Status (CronParser::*read_day)(std::string_view item));
  Status read_month_day(std::string_view item);
  Status read_week_day(std::string_view item);

  Cron cron_;
};

template <size_t size>
Status CronParser::read_bits(const Field& field, std::string_view text, std::bitset<size>& bits) {
  return read_items(text, [&](std::string_view item) {
    return read_range(field, item, [&](int number) { bits.set(number); });
  });
}

Status CronParser::read_days(std::string_view text, bool& any,
                             Status (CronParser::*read_day)(std::string_view item)) {
  any = is_any(text);
  return read_items(
      text, [&](std::string_view item) { return (this->*read_day)(item == "?" ? "*" : item); });
}

Status CronParser::read_month_day(std::string_view item) {
  Cron::MonthDays& days = cron_.month_days_;
  if (item == "l") return days.before_last.set(0), Status();
  if (item == "lw") return days.last_weekday = true, Status();
  if (item.starts_with("l-")) {
    const auto before = number_in(month_day_field, item.substr(2));
    if (!before || *before > 30) return wrong(month_day_field, item, "is not L-1 to L-30");
    return days.before_last.set(*before), Status();
  }
  if (item.ends_with('w')) {
    const auto day = number_in(month_day_field, item.substr(0, item.size() - 1));
    if (!day) return wrong(month_day_field, item, "is not 1W to 31W, or LW");
    return days.nearest_weekday_to.set(*day), Status();
  }
  return read_range(month_day_field, item, [&](int day) { days.plain.set(day); });
}

Status CronParser::read_week_day(std::string_view item) {
  Cron::WeekDays& days = cron_.week_days_;
  if (item == "l")
    return wrong(week_day_field, item, "needs a day before it: 5L is the last Friday");
  if (item.ends_with('l')) {
    const auto day = number_in(week_day_field, item.substr(0, item.size() - 1));
    if (!day) return no_number(week_day_field, item);
    return days.last.set(*day % 7), Status();
  }
  if (const size_t hash = item.find('#'); hash != std::string_view::npos) {
    const auto day = number_in(week_day_field, item.substr(0, hash));
    if (!day) return no_number(week_day_field, item);
    const std::string_view number = item.substr(hash + 1);
    if (number.size() != 1 || number[0] < '1' || number[0] > '5')
      return wrong(week_day_field, item, "has no number from 1 to 5 behind #");
    return days.nth[number[0] - '1'].set(*day % 7), Status();
  }
  return read_range(week_day_field, item, [&](int day) { days.plain.set(day % 7); });
}

Status CronParser::read(std::string_view text) {
  std::vector<std::string> fields =
      absl::StrSplit(std::string(text), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (!fields.empty() && fields[0].find('=') != std::string::npos) {
    return {StatusCode::InvalidArgument,
            fmt::format("'{}' is no field: a time zone is said beside the expression",
                        common::printable(fields[0]))};
  }
  if (fields.size() == 5) fields.insert(fields.begin(), "0");
  if (fields.size() != 6) {
    return {StatusCode::InvalidArgument,
            fmt::format("{} fields, and not 5: minute, hour, day of the month, month, day of the "
                        "week; or 6 with the second before them",
                        fields.size())};
  }
  if (Status s = read_bits(second_field, fields[0], cron_.seconds_); !s.ok()) return s;
  if (Status s = read_bits(minute_field, fields[1], cron_.minutes_); !s.ok()) return s;
  if (Status s = read_bits(hour_field, fields[2], cron_.hours_); !s.ok()) return s;
  if (Status s = read_days(fields[3], cron_.month_days_.is_any, &CronParser::read_month_day);
      !s.ok())
    return s;
  if (Status s = read_bits(month_field, fields[4], cron_.months_); !s.ok()) return s;
  return read_days(fields[5], cron_.week_days_.is_any, &CronParser::read_week_day);
}

Result<Cron> Cron::parse(std::string_view text) {
  if (text.size() > bytes_max) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("a cron expression has at most {} bytes", bytes_max));
  }
  std::string lower = absl::AsciiStrToLower(std::string(common::trimmed(text)));
  if (lower.starts_with('@')) {
    const auto* const found = std::find_if(std::begin(words), std::end(words),
                                           [&](const auto& word) { return word.first == lower; });
    if (found == std::end(words)) {
      const bool has_more = lower.find_first_of(" \t") != std::string::npos;
      return Status(StatusCode::InvalidArgument,
                    fmt::format("'{}'{}", common::printable(lower),
                                has_more ? ": a word that begins with @ stands alone"
                                         : " is not known: @yearly, @monthly, @weekly, @daily, "
                                           "@hourly"));
    }
    lower = found->second;
  }
  CronParser parser;
  if (Status read = parser.read(lower); !read.ok()) return read;
  Cron cron = parser.take();
  if (!cron.first_from(absl::CivilSecond(2000))) {
    return Status(StatusCode::InvalidArgument, "no day of the calendar is meant");
  }
  return cron;
}

}  // namespace perennial::calendar
