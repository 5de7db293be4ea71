#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/containers/job.h"
#include "engine/containers/owned_by.h"
#include "engine/tables/operation.h"
#include "engine/tables/tube.h"
#include "engine/tables/watch_list.h"
#include "engine/types/option_values.h"

namespace perennial::engine {

// A connection as the engine sees it. A connection waits for at most one job at a time.
struct Conn {
  ConnId id = 0;
  TubeId used = 0;
  WatchList watched;  // Does not change while the connection waits.
  ReserveMode mode = ReserveMode::Fifo;
  OwnedBy<JobTable, JobHeap> reserved;  // By deadline, then id.
  bool is_internal = false;             // As in Opened.
  bool producer = false;
  bool worker = false;
  bool half_closed = false;
  bool closing = false;  // Closed, but tubes or reservations are left to be given up.
  // Whether the attempts of a closing connection count: it did not say `quit`.
  bool attempts_count = false;
  bool uses_tube = true;  // False once a closing connection has left all its tubes.

  bool waiting = false;
  // The end of the wait of a waiting connection. Without a value the wait has no end.
  std::optional<Nanos> wait_until;
  JobFacts wait_with;  // What the reply to the wait tells of the job.
  // More than 0: the connection waits with reserve-batch, for so many jobs.
  uint32_t wait_batch = 0;

  // The long operation that the connection has started and that is not done.
  std::unique_ptr<Operation> operation;

  // The place of the connection in the engine's heap of connections.
  uint32_t deadline_index = not_in_heap;
};

}  // namespace perennial::engine
