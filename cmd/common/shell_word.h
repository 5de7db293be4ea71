#pragma once

#include <string>
#include <string_view>

namespace perennial::common {

// Returns the text as one word of a command that a person types into a shell: as it is, or in
// single quotes if the shell would take it apart or change it.
std::string shell_word(std::string_view text);

}  // namespace perennial::common
