#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/common/characters.h"

// Formats numbers, times and bodies for people at a terminal.
namespace perennial::tool {

// 1234567 as "1,234,567".
std::string with_commas(uint64_t number);
// At most 7 characters: "0.4", "12", "9,999", "1.2M".
std::string rate_text(double per_second);
// Two units, the larger first: "12 s", "3 min 20 s", "5 h 3 min", "2 d 4 h".
std::string duration_text(uint64_t seconds);
// For columns of a table, at most 4 characters: "-" for none, "45s", "12m", "5h", "300d".
std::string short_duration(uint64_t seconds);
// At most 7 characters: "999,999", "1.2M".
std::string short_count(uint64_t number);
// "850 B", "12.3 kB", "120.0 MB", "12.3 GB".
std::string size_text(uint64_t bytes);
// "850 us", "12.3 ms", "1.2 s".
std::string latency_text(uint64_t microseconds);
// At most `columns` characters, which is at least 1, of a text in UTF-8. "~" marks a truncated
// text.
std::string truncate(std::string_view text, size_t columns);

// Text that is safe for a terminal.
using common::printable;

// Prints a warning on standard error in the form of an error of the subcommand, which continues.
void complain(std::string_view command, std::string_view message);

}  // namespace perennial::tool
