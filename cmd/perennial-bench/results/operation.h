#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perennial::bench {

// What is asked of a server, and what is counted and timed; some are only the one or the other.
enum class Operation : uint8_t {
  Setup,  // use, watch and ignore, which come before all others on a connection.
  Put,
  Reserve,  // Waits for a job.
  Poll,     // A reserve that does not wait: there may be none.
  Delete,
  Release,
  Bury,
  Kick,
  Peek,
  ReserveDelete,  // From the reserve being sent to the delete being answered.
  Cycle,          // A job's life. Timed from its put being sent to its coming to a worker, which is
                  // mostly its wait in the queue where producers are faster than workers; counted
                  // when it is deleted.
  All,            // Every request of a mixed load.
};

inline constexpr size_t operations_count = static_cast<size_t>(Operation::All) + 1;

// As reports and error messages name it.
constexpr std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, operations_count> names = {
      "use or watch", "put",  "reserve", "reserve",        "delete", "release",
      "bury",         "kick", "peek",    "reserve-delete", "cycle",  "all"};
  return names[static_cast<size_t>(operation)];
}

}  // namespace perennial::bench
