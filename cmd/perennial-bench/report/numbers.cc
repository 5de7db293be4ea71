#include "cmd/perennial-bench/report/numbers.h"

#include <cmath>

#include <fmt/format.h>

namespace perennial::bench {
namespace {

std::string with_commas(double whole) {
  std::string digits = fmt::format("{:.0f}", whole);
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

// Values below 100 have three digits.
int decimals_of(double value) {
  if (std::abs(value) < 9.995) return 2;
  return std::abs(value) < 99.95 ? 1 : 0;
}

std::string bytes_text(double bytes) {
  constexpr std::string_view units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; std::abs(bytes) >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

}  // namespace

std::string number_text(double value) {
  const int decimals = decimals_of(value);
  if (decimals == 0) return with_commas(value);
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string with_unit(double value, std::string_view unit) {
  if (unit == "bytes") return bytes_text(value);
  return number_text(value) + (unit.empty() ? "" : " ") + std::string(unit);
}

std::string ratio_text(std::optional<double> ratio) {
  if (!ratio) return "-";
  return fmt::format("{:.{}f}", *ratio, decimals_of(*ratio));
}

}  // namespace perennial::bench
