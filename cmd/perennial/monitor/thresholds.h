#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/types/status.h"

namespace perennial::tool {

// The limits of a value, as monitors give them to their plugins: a value above one is reported, and
// of what there can be too little of, a value below one.
struct Thresholds {
  std::optional<uint64_t> warning = {};
  std::optional<uint64_t> critical = {};
};

// Parses "WARNING,CRITICAL", "WARNING" or ",CRITICAL". InvalidArgument: a limit is no whole number,
// or the first one is above the second.
Result<Thresholds> parse_count_thresholds(std::string_view text);
// The same for times, in seconds: "90", "90s", "15m", "1h", "2d", "1h30m".
Result<Thresholds> parse_time_thresholds(std::string_view text);
// The same for bytes of which there can be too little: "20GiB,5GiB". InvalidArgument also: the
// first one is below the second.
Result<Thresholds> parse_low_bytes_thresholds(std::string_view text);

}  // namespace perennial::tool
