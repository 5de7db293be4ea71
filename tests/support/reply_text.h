#pragma once

#include <cstdint>
#include <string_view>

// What tests take out of the text of a reply.
namespace perennial::support {

// The number that follows the reply's first word, or 0.
uint64_t first_number(std::string_view reply);
// The body inside "WORD ... <bytes>\r\n<body>\r\n".
std::string_view body_in(std::string_view reply);

// The number after "key: " in the YAML of a stats reply; `missing` when it is not there.
uint64_t yaml_number(std::string_view yaml, std::string_view key, uint64_t missing = ~uint64_t{0});
std::string_view yaml_value(std::string_view yaml, std::string_view key);

}  // namespace perennial::support
