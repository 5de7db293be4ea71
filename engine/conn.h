#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/job.h"
#include "engine/tube.h"
#include "engine/watch_list.h"

namespace perennial::engine {

// A kick. What moves more jobs than one turn may goes on in the next.
struct KickLeft {
  uint32_t remaining;  // Of the bound that the client gave.
  uint64_t kicked = 0;
  bool begun = false;
  // ---- Decided when it begins.
  bool whole = false;         // It goes on to its end in the turn in which it begins.
  bool buried = false;        // Which jobs it kicks.
  uint64_t order_end = 0;     // With buried: those from here on were buried after its start.
  bool is_splitting = false;  // Otherwise, once it has had to stop: its tube's are split for it.
};

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

  std::optional<KickLeft> kick;

  uint32_t deadline_index = not_in_heap;  // Its place in the engine's heap of connections.
};

}  // namespace perennial::engine
