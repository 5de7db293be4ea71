#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perennial::wire {

// The lines of the tables in wire/README.md that follow a heading and begin with a word in code.
std::vector<std::string> documented_rows(std::string_view heading);

// As the documents write it: in backquotes, "-" if it is empty.
std::string code(std::string_view text);

}  // namespace perennial::wire
