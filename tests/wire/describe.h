#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/command.h"

namespace perennial::wire {

// Describes a command in words, for comparison in tests: "put pri=1 delay=2 ttr=3 body=hi", "bad",
// "unknown".
std::string describe(const Command& command, std::string_view body = {});

// Returns all commands that a new parser finds in these bytes, in words. Each piece is fed
// separately until it is consumed. `body_bytes_left` is that of Parser::feed.
std::vector<std::string> describe_all(const std::vector<std::string_view>& pieces,
                                      uint32_t job_bytes_max = 65'535,
                                      size_t body_bytes_left = SIZE_MAX,
                                      ExtensionSet allowed = ExtensionSet::all());

}  // namespace perennial::wire
