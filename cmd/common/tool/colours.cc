#include "cmd/common/tool/colours.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

namespace perennial::tool {
namespace {

// "Select graphic rendition" of ECMA-48, by Colour.
constexpr std::array<std::string_view, 4> codes = {"1", "31", "33", "32"};

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool takes_colours(int fd) {
  return ::isatty(fd) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb" &&
         !variable("TERM").empty();
}

std::string coloured(std::string_view text, Colour colour, int fd) {
  if (!takes_colours(fd)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<size_t>(colour)], text);
}

std::string with_bold_heading(std::string_view table, int fd) {
  const size_t end = std::min(table.find('\n'), table.size());
  return coloured(table.substr(0, end), Colour::Bold, fd) + std::string(table.substr(end));
}

}  // namespace perennial::tool
