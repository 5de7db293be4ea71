#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "tests/power_cut/recording.h"

namespace perennial::power_cut {

// Changes nothing, and its answer may be missing.
inline constexpr std::string_view unrecorded_command = "list-tube-used";

// A command of a client and the answers to it. A batch has a line of answer for each item, too.
struct Exchange {
  uint64_t connection = 0;
  uint64_t arrived = 0;   // The number of the event with which all of it had arrived.
  uint64_t answered = 0;  // The number of the event with which the last answer had left.
  std::string line;       // Without CRLF.
  std::string body;       // Of a put: its body. Of a put-batch: the items.
  std::vector<std::string> answers = {};
};

// Every exchange of a recording but those with unrecorded_command, in the order in which the
// commands arrived.
Result<std::vector<Exchange>> read_exchanges(const Recording& recording);

// The words of a line.
std::vector<std::string_view> words_of(std::string_view line);
uint64_t number_of(std::string_view word);

}  // namespace perennial::power_cut
