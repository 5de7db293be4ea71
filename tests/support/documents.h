#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perennial::support {

// Returns the lines of the tables in a document of etc/docs that follow a heading and begin with a
// word in code format. `name`: "protocol.md".
std::vector<std::string> documented_rows(std::string_view name, std::string_view heading);

// The same. With UPDATE_DOCUMENTS=1 in the environment it replaces them with `made` before: read
// the diff before you commit it. REQUIRES: the lines follow each other.
std::vector<std::string> documented_rows(std::string_view name, std::string_view heading,
                                         const std::vector<std::string>& made);

// Returns the text as the documents write it: in backquotes, or "-" if it is empty.
std::string code(std::string_view text);

// Returns "`a`", "`a` or `b`", "`a`, `b` or `c`".
std::string one_of(const std::vector<std::string_view>& words);

}  // namespace perennial::support
