#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"

// Times as people write them on a command line.
namespace perennial::common {

// The longest one: 2^32 - 1 seconds, as in the protocol.
inline constexpr std::chrono::milliseconds duration_max = std::chrono::seconds(0xffff'ffffLL);

// Parses "90s", "15m", "1h30m", "2d" or "250ms". The larger units come first, each at most once. A
// number without a unit is seconds. A number may have up to three digits behind a point: "0.5".
// InvalidArgument: it is none of these, has parts of a millisecond, or is above duration_max.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// Returns the shortest text that parse_duration reads as the same: "1h30m", "250ms", "0s".
// REQUIRES: it is not negative.
std::string format_duration(std::chrono::milliseconds duration);

}  // namespace perennial::common
