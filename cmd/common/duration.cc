#include "cmd/common/duration.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "cmd/common/units.h"

namespace perennial::common {
namespace {

struct TimeUnit {
  std::string_view name;
  uint64_t milliseconds;
};
// The largest one comes first.
constexpr std::array<TimeUnit, 5> time_units = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
constexpr size_t seconds_place = 3;
constexpr size_t decimals_max = 3;
constexpr auto milliseconds_max = static_cast<uint64_t>(duration_max.count());

bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

// Adds a number of units. Returns false if it is no number, or the sum is too much or no whole
// number of milliseconds.
bool add_units(std::string_view number, const TimeUnit& unit, uint64_t& sum) {
  const size_t point = number.find('.');
  const Result<uint64_t> whole = parse_count(number.substr(0, point));
  if (!whole.ok() || *whole > milliseconds_max / unit.milliseconds) return false;
  sum += *whole * unit.milliseconds;
  if (point == std::string_view::npos) return sum <= milliseconds_max;
  const std::string_view decimals = number.substr(point + 1);
  const Result<uint64_t> part = parse_count(decimals);
  if (!part.ok() || decimals.size() > decimals_max) return false;
  uint64_t scale = 1;
  for (size_t i = 0; i < decimals.size(); ++i) scale *= 10;
  if (*part * unit.milliseconds % scale != 0) return false;
  sum += *part * unit.milliseconds / scale;
  return sum <= milliseconds_max;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const Status bad(
      StatusCode::InvalidArgument,
      fmt::format("'{}' is not a duration: 90s, 15m, 1h30m, 2d or 250ms, at most 49710d; a "
                  "number is seconds",
                  text));
  if (text.empty()) return bad;
  uint64_t sum = 0;
  size_t first_allowed = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto number_end = std::ranges::find_if_not(rest, is_of_number);
    const std::string_view number = rest.substr(0, static_cast<size_t>(number_end - rest.begin()));
    rest.remove_prefix(number.size());
    const auto name_end = std::ranges::find_if(rest, is_of_number);
    const std::string_view name = rest.substr(0, static_cast<size_t>(name_end - rest.begin()));
    rest.remove_prefix(name.size());
    const bool is_bare = name.empty() && number.size() == text.size();
    const auto* const unit =
        is_bare ? &time_units[seconds_place]
                : std::find_if(time_units.begin() + first_allowed, time_units.end(),
                               [&](const TimeUnit& u) { return u.name == name; });
    if (unit == time_units.end() || !add_units(number, *unit, sum)) return bad;
    first_allowed = static_cast<size_t>(unit - time_units.begin()) + 1;
  }
  return std::chrono::milliseconds(sum);
}

std::string format_duration(std::chrono::milliseconds duration) {
  std::string text;
  auto left = static_cast<uint64_t>(duration.count());
  for (const TimeUnit& unit : time_units) {
    if (left >= unit.milliseconds) text += fmt::format("{}{}", left / unit.milliseconds, unit.name);
    left %= unit.milliseconds;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace perennial::common
