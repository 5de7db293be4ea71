#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perennial::common {

// The bytes that base64 with its padding stands for (RFC 4648, section 4). None: it is not
// well-formed.
std::optional<std::string> from_base64(std::string_view text);

std::string to_base64(std::string_view bytes);

// The same with the letters of a path and a query, without padding (section 5).
std::string to_base64url(std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace perennial::common
