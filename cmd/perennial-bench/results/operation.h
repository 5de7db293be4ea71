#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perennial::bench {

// A request to a server, or what is counted and timed. Some values are only one of them.
enum class Operation : uint8_t {
  Setup,  // use, watch and ignore, which precede all others on a connection.
  Put,
  Reserve,  // A reserve that waits for a job.
  Poll,     // A reserve that does not wait, and may find no job.
  Delete,
  Release,
  Bury,
  Kick,
  Peek,
  PutBatch,
  ReserveBatch,
  DeleteBatch,
  ReserveDelete,  // From sending the reserve to the answer of the delete.
  // The whole life of a job. Timed from sending its put to receiving it in a worker, which is
  // mostly the wait in the queue if producers are faster than workers. In a load whose connections
  // do everything with their jobs, timed from the put to the answer of the delete, once for each
  // batch. Counted when the job is deleted.
  Cycle,
  All,  // Each request of a mixed load.
};

inline constexpr size_t operations_count = static_cast<size_t>(Operation::All) + 1;

// The name in reports and error messages.
constexpr std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, operations_count> names = {
      "use or watch",  "put",          "reserve",        "reserve", "delete",
      "release",       "bury",         "kick",           "peek",    "put-batch",
      "reserve-batch", "delete-batch", "reserve-delete", "cycle",   "all"};
  return names[static_cast<size_t>(operation)];
}

}  // namespace perennial::bench
