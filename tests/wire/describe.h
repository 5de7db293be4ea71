#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/command.h"

namespace perennial::wire {

// A command in words, for tests to compare: "put pri=1 delay=2 ttr=3 body=hi", "bad",
// "unknown".
std::string describe(const Command& command, std::string_view body = {});

// All that a new parser makes of these bytes, in words. Each piece is fed by itself, and each feed
// goes on until its piece is used up. `room`: Parser::feed.
std::vector<std::string> describe_all(const std::vector<std::string_view>& pieces,
                                      uint32_t job_bytes_max = 65'535, size_t room = SIZE_MAX);

}  // namespace perennial::wire
