#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/job.h"
#include "engine/long_operation.h"
#include "engine/tube.h"
#include "engine/watch_list.h"

namespace perennial::engine {

// A connection as the engine sees it. It waits for at most one job at a time.
struct Conn {
  ConnId id = 0;
  TubeId used = 0;
  WatchList watched;  // Does not change while the connection waits.
  JobHeap reserved;   // By deadline, then id.
  bool producer = false;
  bool worker = false;
  bool half_closed = false;
  bool closing = false;   // Closed, with tubes left to leave or reservations to give back.
  bool uses_tube = true;  // Not any more when it is closing and has left all tubes.

  bool waiting = false;
  std::optional<Nanos> wait_until;  // Of a waiting connection; none: for ever.

  std::optional<LongOperation> operation;  // Only until it is done, or the connection is closed.

  uint32_t deadline_index = not_in_heap;  // Its place in the engine's heap of connections.
};

}  // namespace perennial::engine
