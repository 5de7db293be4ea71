#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Colours on a terminal. They say nothing that the text does not say, too.
namespace perennial::tool {

enum class Colour : uint8_t { Bold, Red, Yellow, Green };

// Whether the stream with this descriptor takes colours: it is a terminal, TERM is not `dumb`, and
// NO_COLOR is not set to anything (no-color.org).
bool takes_colours(int fd);

// The text in this colour if the stream takes colours, and as it is if not.
std::string coloured(std::string_view text, Colour colour, int fd);
// The same for the first line of a table alone.
std::string with_bold_heading(std::string_view table, int fd);

}  // namespace perennial::tool
