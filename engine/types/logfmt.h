#pragma once

#include <string>
#include <string_view>

namespace perennial {

// Returns the text as a value in a line of the log: in double quotes, in which quotes and
// backslashes are escaped, and control characters of ASCII are written as "\n" and "\x1b". So it
// is one value of one line, whatever the text is.
std::string logfmt_text(std::string_view text);

}  // namespace perennial
