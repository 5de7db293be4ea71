#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "engine/types/status.h"

namespace perennial::bench {

// Removes the next line from `bytes`, and returns it without its CRLF. Nothing is removed, and the
// result is empty, if the line is not complete.
std::string_view take_line(std::string_view& bytes);

// Moves `rest` behind the body, or the items of a batch, that belong to the line of a reply. False:
// not all of it has arrived. Io: it is not understood. No body may have more than `body_bytes_max`.
Result<bool> skip_body(std::string_view line, std::string_view& rest, size_t body_bytes_max);

// Io, with the beginning of a line that is no reply.
Status not_understood(std::string_view line);

// The number at this place in a line, 0 for the one behind the word.
std::optional<size_t> number_in(std::string_view line, size_t place);

}  // namespace perennial::bench
