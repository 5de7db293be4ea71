#pragma once

#include <optional>
#include <string_view>

#include "engine/types/command.h"

namespace perennial::wire {

// protocol.txt, "put": the prefix that makes a line a put.
inline constexpr std::string_view put_prefix = command_row<Put>().prefix;

// What stands on a put's line. The numbers are right; whether the size is within its limit, the
// parser checks, and it does so before it looks at the junk.
struct PutLine {
  Put put;
  bool trailing_junk;  // Something follows the last number.
};

// The numbers of a put, from what follows its prefix; none if one of them is bad.
std::optional<PutLine> parse_put_line(std::string_view args);

// Any line but a put's, without its CRLF.
Command parse_command_line(std::string_view line);

// Whether this may name a tube. protocol.txt, "Tubes".
bool is_tube_name(std::string_view name);

}  // namespace perennial::wire
