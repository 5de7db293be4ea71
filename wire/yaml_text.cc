#include "wire/yaml_text.h"

#include <charconv>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>
#include <utf8.h>

namespace perennial::wire {
namespace {

// Without the byte order mark, U+0085 and the separators U+2028 and U+2029, which end a line.
bool is_plain(uint32_t point) {
  const bool is_ascii = point >= 0x20 && point <= 0x7e && point != '"' && point != '\\';
  const bool is_other =
      point >= 0xa0 && point <= 0xfffd && point != 0xfeff && point != 0x2028 && point != 0x2029;
  return is_ascii || is_other || point >= 0x10000;
}

void append_escaped(std::string& out, uint32_t point) {
  const auto append = [&out](std::string_view escape) { out += escape; };
  switch (point) {
    case '"':
      return append("\\\"");
    case '\\':
      return append("\\\\");
    case '\n':
      return append("\\n");
    case '\t':
      return append("\\t");
    default:
      out += point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{:04x}", point);
  }
}

// Takes the hexadecimal digits of an escape off the front.
std::optional<uint32_t> take_point(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  uint32_t point = 0;
  const char* const end = text.data() + digits;
  const auto read = std::from_chars(text.data(), end, point, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  text.remove_prefix(digits);
  return point;
}

// Takes what is behind a backslash off the front.
std::optional<uint32_t> take_escape(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const char kind = text.front();
  text.remove_prefix(1);
  switch (kind) {
    case '"':
    case '\\':
      return kind;
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'x':
      return take_point(text, 2);
    case 'u':
      return take_point(text, 4);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> read_yaml_text(std::string_view quoted) {
  if (quoted.size() < 2 || !quoted.starts_with('"') || !quoted.ends_with('"')) return std::nullopt;
  std::string out;
  for (std::string_view rest = quoted.substr(1, quoted.size() - 2); !rest.empty();) {
    const char first = rest.front();
    rest.remove_prefix(1);
    if (first != '\\') {
      out += first;
      continue;
    }
    const std::optional<uint32_t> point = take_escape(rest);
    if (!point) return std::nullopt;
    utf8::unchecked::append(*point, std::back_inserter(out));
  }
  return out;
}

std::string yaml_text(std::string_view text) {
  std::string valid;
  utf8::replace_invalid(text.begin(), text.end(), std::back_inserter(valid));
  std::string out = "\"";
  for (auto at = valid.begin(); at != valid.end();) {
    const auto begin = at;
    const uint32_t point = utf8::unchecked::next(at);
    if (is_plain(point)) {
      out.append(begin, at);
    } else {
      append_escaped(out, point);
    }
  }
  out += '"';
  return out;
}

}  // namespace perennial::wire
