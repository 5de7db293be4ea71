#include "cmd/perennial/output/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <utf8.h>

namespace perennial::tool {
namespace {

// Bytes that end a run that is copied unchanged: each is escaped or starts a character that may be.
constexpr std::array<bool, 256> make_stops() {
  std::array<bool, 256> stops = {};
  for (size_t byte = 0; byte < 0x20; ++byte) stops[byte] = true;
  for (const size_t byte : {'"' + 0, '\\' + 0, 0x7f, 0xc2, 0xe2, 0xef}) stops[byte] = true;
  return stops;
}
constexpr std::array<bool, 256> stops = make_stops();

// Whether YAML requires an escape for a character outside ASCII: controls, its own line ends, the
// byte order mark and code points that are no characters.
bool is_unprintable(uint32_t point) {
  return (point >= 0x80 && point < 0xa0) || point == 0x2028 || point == 0x2029 || point == 0xfeff ||
         point == 0xfffe || point == 0xffff;
}

// Writes the first character, escaped if necessary, and removes it from the text.
void add_character(Output& out, std::string_view& text) {
  const auto byte = static_cast<uint8_t>(text.front());
  if (byte == '"' || byte == '\\') {
    out.add("\\");
    out.add(text.substr(0, 1));
    return text.remove_prefix(1);
  }
  if (byte == '\n') {
    out.add("\\n");
    return text.remove_prefix(1);
  }
  const char* at = text.data();
  const uint32_t point = utf8::unchecked::next(at);
  const auto bytes = static_cast<size_t>(at - text.data());
  if (byte < 0x80 || is_unprintable(point)) {
    out.add(fmt::format("\\u{:04x}", point));
  } else {
    out.add(text.substr(0, bytes));
  }
  text.remove_prefix(bytes);
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  return utf8::is_valid(bytes.begin(), bytes.end());
}

void add_quoted(Output& out, std::string_view text) {
  out.add("\"");
  while (!text.empty()) {
    size_t run = 0;
    while (run < text.size() && !stops[static_cast<uint8_t>(text[run])]) ++run;
    out.add(text.substr(0, run));
    text.remove_prefix(run);
    if (!text.empty()) add_character(out, text);
  }
  out.add("\"");
}

void add_base64(Output& out, std::string_view bytes) {
  constexpr size_t piece_bytes = 3 << 12;  // A multiple of three, so that the pieces can be joined.
  out.add("\"");
  std::string piece;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), piece_bytes))) {
    const std::string_view next = bytes.substr(0, piece_bytes);
    absl::Base64Escape({next.data(), next.size()}, &piece);
    out.add(piece);
  }
  out.add("\"");
}

bool from_base64(std::string_view text, std::string& bytes) {
  return absl::Base64Unescape({text.data(), text.size()}, &bytes);
}

}  // namespace perennial::tool
