#include "cmd/perennial/output/readable.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/common/tool/colours.h"

namespace perennial::tool {
namespace {

constexpr uint64_t minute = 60;
constexpr uint64_t hour = 60 * minute;
constexpr uint64_t day = 24 * hour;

std::string two_units(uint64_t seconds, uint64_t large, std::string_view large_name, uint64_t small,
                      std::string_view small_name) {
  const uint64_t rest = seconds % large / small;
  const std::string text = fmt::format("{} {}", seconds / large, large_name);
  return rest == 0 ? text : fmt::format("{} {} {}", text, rest, small_name);
}

}  // namespace

std::string with_commas(uint64_t number) {
  const std::string digits = fmt::to_string(number);
  std::string text;
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string rate_text(double per_second) {
  if (per_second < 0.05) return "0";
  if (per_second < 9.95) return fmt::format("{:.1f}", per_second);
  if (per_second < 999'999) return with_commas(static_cast<uint64_t>(std::llround(per_second)));
  return fmt::format("{:.1f}M", per_second / 1e6);
}

std::string duration_text(uint64_t seconds) {
  if (seconds < minute) return fmt::format("{} s", seconds);
  if (seconds < hour) return two_units(seconds, minute, "min", 1, "s");
  if (seconds < day) return two_units(seconds, hour, "h", minute, "min");
  return two_units(seconds, day, "d", hour, "h");
}

std::string short_duration(uint64_t seconds) {
  if (seconds == 0) return "-";
  if (seconds < 2 * minute) return fmt::format("{}s", seconds);
  if (seconds < 2 * hour) return fmt::format("{}m", seconds / minute);
  if (seconds < 2 * day) return fmt::format("{}h", seconds / hour);
  return fmt::format("{}d", seconds / day);
}

std::string short_count(uint64_t number) {
  if (number < 1'000'000) return with_commas(number);
  return fmt::format("{:.1f}M", static_cast<double>(number) / 1e6);
}

std::string size_text(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string latency_text(uint64_t microseconds) {
  if (microseconds < 1000) return fmt::format("{} us", microseconds);
  const double milliseconds = static_cast<double>(microseconds) / 1000;
  if (milliseconds < 1000) return fmt::format("{:.1f} ms", milliseconds);
  return fmt::format("{:.1f} s", milliseconds / 1000);
}

std::string truncate(std::string_view text, size_t columns) {
  size_t characters = 0;
  size_t cut = 0;  // Where the last character begins that may be there.
  for (size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    characters += begins ? 1 : 0;
    if (begins && characters == columns) cut = at;
    if (characters > columns) return std::string(text.substr(0, cut)) + "~";
  }
  return std::string(text);
}

void complain(std::string_view command, std::string_view message) {
  std::fflush(stdout);  // Both may go to the same place.
  // Not with fmt::print, which throws when nobody takes the message.
  const std::string who =
      coloured(fmt::format("perennial {}:", command), Colour::Yellow, STDERR_FILENO);
  std::fputs(fmt::format("{} {}\n", who, printable(message)).c_str(), stderr);
}

}  // namespace perennial::tool
