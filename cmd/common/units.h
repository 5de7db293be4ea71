#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"

// Numbers as people write them.
namespace perennial::common {

// A whole number in decimal, nothing around it.
Result<uint64_t> parse_count(std::string_view text);

// A number of bytes: a whole number, and perhaps a unit. KiB, MiB, GiB and TiB are powers of 1024;
// kB, MB, GB and TB powers of 1000. A space before the unit is allowed.
Result<uint64_t> parse_bytes(std::string_view text);

// The shortest text that parse_bytes reads as the same number: 67108864 is "64MiB".
std::string format_bytes(uint64_t bytes);

}  // namespace perennial::common
