#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"

// Numbers and sizes as people write them.
namespace perennial::common {

// Parses a whole decimal number without anything around it. InvalidArgument: it is not one, or 2^64
// or more.
Result<uint64_t> parse_count(std::string_view text);

// Parses a number of bytes: a whole number with an optional unit. KiB, MiB, GiB and TiB are powers
// of 1024; kB, MB, GB and TB are powers of 1000. A space before the unit is allowed.
// InvalidArgument: it is not a size, or 2^64 or more.
Result<uint64_t> parse_bytes(std::string_view text);

// Returns the size with the largest unit of 1024 that divides it: 67108864 is "64MiB". parse_bytes
// reads the same number from it.
std::string format_bytes(uint64_t bytes);

}  // namespace perennial::common
