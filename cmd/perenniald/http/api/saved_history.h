#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"

// What a server keeps of the history of its numbers over a restart, as the text of a small file.
namespace perennial::http {

// The rows of one span.
struct SavedRows {
  Nanos step = 0;     // From one row to the next.
  Nanos last_at = 0;  // When the newest row ended, since the epoch.
  // The values of each column, from the oldest row to the newest. One that is not known is NaN.
  std::map<std::string, std::vector<float>> columns = {};
};
using SavedHistory = std::vector<SavedRows>;  // One for each span.

// JSON.
std::string text_of(const SavedHistory& history);
// None: it is not the whole text of a history, as after a power cut.
std::optional<SavedHistory> parse_history(std::string_view text);

}  // namespace perennial::http
