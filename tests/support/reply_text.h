#pragma once

#include <cstdint>
#include <string_view>

// Extracts values from the text of replies.
namespace perennial::support {

// The number that follows the reply's first word, or 0.
uint64_t first_number(std::string_view reply);
// The body inside "WORD ... <bytes>\r\n<body>\r\n".
std::string_view body_in(std::string_view reply);

// The number after "key: " in the YAML of a stats reply, or `missing` if the key is not there.
uint64_t yaml_number(std::string_view yaml, std::string_view key, uint64_t missing = ~uint64_t{0});
std::string_view yaml_value(std::string_view yaml, std::string_view key);

}  // namespace perennial::support
