#include "cmd/perennial/readable.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

namespace perennial::tool {
namespace {

constexpr uint64_t minute = 60;
constexpr uint64_t hour = 60 * minute;
constexpr uint64_t day = 24 * hour;

struct Lead {
  unsigned char mask, bits;
  size_t length;
  char32_t lowest;  // A longer form of a lower character is not UTF-8.
};
constexpr std::array leads = {Lead{0x80, 0x00, 1, 0}, Lead{0xe0, 0xc0, 2, 0x80},
                              Lead{0xf0, 0xe0, 3, 0x800}, Lead{0xf8, 0xf0, 4, 0x10000}};

// How many bytes the character at the front has; 0 if there is none.
size_t utf8_length(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes.front());
  for (const Lead& lead : leads) {
    if ((first & lead.mask) != lead.bits) continue;
    if (bytes.size() < lead.length) return 0;
    char32_t character = first & static_cast<unsigned char>(~lead.mask);
    for (size_t i = 1; i < lead.length; ++i) {
      const auto next = static_cast<unsigned char>(bytes[i]);
      if ((next & 0xc0) != 0x80) return 0;
      character = character << 6 | (next & 0x3fU);
    }
    const bool surrogate = character >= 0xd800 && character <= 0xdfff;
    return character < lead.lowest || character > 0x10ffff || surrogate ? 0 : lead.length;
  }
  return 0;
}

// The control characters of ASCII, and those of Latin-1, which some terminals obey as well.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 127;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

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
  if (per_second < 999'999) return with_commas(static_cast<uint64_t>(per_second + 0.5));
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

std::string latency_text(uint64_t microseconds) {
  if (microseconds < 1000) return fmt::format("{} us", microseconds);
  const double milliseconds = static_cast<double>(microseconds) / 1000;
  if (milliseconds < 1000) return fmt::format("{:.1f} ms", milliseconds);
  return fmt::format("{:.1f} s", milliseconds / 1000);
}

std::string cut(std::string_view text, size_t columns) {
  if (text.size() <= columns) return std::string(text);
  return std::string(text.substr(0, columns - 1)) + "~";
}

std::string printable(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, std::max<size_t>(length, 1));
    if (length == 0 || is_control(character)) {
      for (const char byte : character)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      out += character;
    }
    bytes.remove_prefix(character.size());
  }
  return out;
}

void complain(std::string_view command, std::string_view message) {
  fmt::print(stderr, "perennial {}: {}\n", command, message);
}

}  // namespace perennial::tool
