#pragma once

#include <string>
#include <string_view>

// Text from outside that people read in a log or at a terminal.
namespace perennial::common {

struct Character {
  std::string_view bytes;
  // False for what a reader does not see or a terminal obeys: control characters of ASCII and of
  // Latin-1, line separators, marks that turn or join the text around them, and a byte that is no
  // UTF-8.
  bool is_printable = false;
};

// Takes the first character off the text, or one byte of what is no UTF-8. REQUIRES: the text is
// not empty.
Character take_character(std::string_view& text);

// Whether the byte is one of a character of UTF-8, and not its first.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Text that is safe for a terminal: what it cannot show, except line feed and tab, becomes "\x1b".
std::string printable(std::string_view text);

// The same on one line: a line feed becomes "\n", a tab "\x09".
std::string printable_line(std::string_view text);

// The value in logfmt: as it is if it holds plain characters only, else quoted and printable.
std::string logfmt_value(std::string_view value);

}  // namespace perennial::common
