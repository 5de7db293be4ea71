#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/ended_groups.h"
#include "store/types/ended_found.h"

namespace perennial::core {

// An ended job, as far as whoever removes it has to know it.
struct EndedPlace {
  uint64_t place = 0;
  JobId job = 0;
  Nanos at = 0;
  uint32_t notes = 0;  // How many are kept of it.
};

// One ended job, with its body and its notes.
struct EndedJobRead {
  JobId id;
};
// The first places of a tube that are in use.
struct EndedPlacesRead {
  std::string tube;
  uint64_t first;
  size_t count;
};
// What is to be read about jobs that have ended.
struct EndedRead {
  uint64_t ticket;  // For EndedDesk::on_read().
  std::variant<EndedJobRead, EndedPlacesRead, store::EndedQuery, EndedGroupsQuery> what;
};
// What was read, by what was asked for.
using EndedResult = std::variant<std::optional<store::EndedFound>, std::vector<EndedPlace>,
                                 store::EndedPage, EndedGroupsPage>;

}  // namespace perennial::core
