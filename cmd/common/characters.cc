#include "cmd/common/characters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "engine/types/logfmt.h"

namespace perennial::common {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

constexpr std::array hidden = {
    Range{0x00, 0x1f},      Range{0x7f, 0x9f},      // Control characters.
    Range{0xad, 0xad},      Range{0x61c, 0x61c},    // Soft hyphen; Arabic letter mark.
    Range{0x180e, 0x180e},                          // Mongolian vowel separator.
    Range{0x200b, 0x200f},  Range{0x2028, 0x202e},  // No width; separators, and the direction.
    Range{0x2060, 0x206f},                          // Joiners, and the direction.
    Range{0xfeff, 0xfeff},  Range{0xfff9, 0xfffb},  // Byte order mark; annotations.
    Range{0xe0000, 0xe0fff}                         // Tags.
};

// The number of bytes that a character has, by the first one; 0: it begins none.
size_t length_of(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

// Returns 0 if the bytes are no character, or a longer form of one than it needs.
size_t decode(std::string_view text, uint32_t& point) {
  constexpr std::array<uint32_t, 5> lowest = {0, 0, 0x80, 0x800, 0x10000};
  constexpr std::array<uint8_t, 5> first_bits = {0, 0x7f, 0x1f, 0x0f, 0x07};
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = length_of(first);
  if (length == 0 || length > text.size()) return 0;
  point = first & first_bits[length];
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte & 0x3fu);
  }
  const bool is_surrogate = point >= 0xd800 && point < 0xe000;
  return point < lowest[length] || point > 0x10ffff || is_surrogate ? 0 : length;
}

// What cannot be shown is written byte by byte.
std::string& append_shown(std::string& out, const Character& character) {
  if (character.is_printable) return out += character.bytes;
  for (const char byte : character.bytes) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return out;
}

}  // namespace

Character take_character(std::string_view& text) {
  uint32_t point = 0;
  const size_t length = decode(text, point);
  const bool is_hidden = std::ranges::any_of(
      hidden, [point](const Range& range) { return range.first <= point && point <= range.last; });
  const Character taken = {.bytes = text.substr(0, std::max<size_t>(length, 1)),
                           .is_printable = length > 0 && !is_hidden};
  text.remove_prefix(taken.bytes.size());
  return taken;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = take_character(text);
    const bool is_space = character.bytes == "\n" || character.bytes == "\t";
    is_space ? out += character.bytes : append_shown(out, character);
  }
  return out;
}

std::string printable_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = take_character(text);
    character.bytes == "\n" ? out += "\\n" : append_shown(out, character);
  }
  return out;
}

std::string logfmt_value(std::string_view value) {
  const bool is_plain = !value.empty() && std::ranges::all_of(value, [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  });
  return is_plain ? std::string(value) : printable_line(logfmt_text(value));
}

}  // namespace perennial::common
