#pragma once

#include <string_view>

#include "engine/types/command.h"

// Whether what a client is about to send is what the server will read. A name that holds a space or
// the end of a line makes other options or other commands of the bytes behind it, and a line that
// is refused leaves its body to be read as commands.
namespace perennial::wire {

// Whether the parser of a server reads all of `bytes`, which append_command() has made of
// `command`, as this one command, with the same names and keys; or drops all of them because its
// items or its text are too large. Numbers are not compared. Every extension counts as allowed, and
// a body of up to 1 GiB.
bool is_one_command(std::string_view bytes, const Command& command);

// A line that a server answers with BAD_FORMAT, and that has no other effect.
inline constexpr std::string_view bad_format_line = "put \r\n";

}  // namespace perennial::wire
