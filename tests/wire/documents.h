#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perennial::wire {

// Returns the lines of the tables in etc/docs/protocol.md that follow a heading and begin with a
// word in code format.
std::vector<std::string> documented_rows(std::string_view heading);

// Returns the text as the documents write it: in backquotes, or "-" if it is empty.
std::string code(std::string_view text);

}  // namespace perennial::wire
