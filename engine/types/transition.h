#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "engine/types/basic.h"

// What an input changed, for the store to remember. The engine describes, the store does; folding
// all transitions from empty gives the engine's state.
namespace perennial {

// A job as it is kept: everything that the engine needs to rebuild itself, and nothing of the body
// but its size.
struct JobRow {
  JobId id = 0;
  JobState state = JobState::Ready;
  TubeId tube = 0;
  uint32_t priority = 0;
  uint32_t delay_s = 0;  // The last one given by put or release, also after a kick.
  uint32_t ttr_s = 0;    // At least 1.
  Nanos created = 0;
  // Delayed: when it becomes ready, in Nanos since the epoch. Buried: its place in the bury order,
  // which is one sequence over all tubes. Otherwise zero.
  uint64_t order = 0;
  uint32_t reserves = 0;
  uint32_t timeouts = 0;
  uint32_t releases = 0;
  uint32_t buries = 0;
  uint32_t kicks = 0;
  uint32_t body_bytes = 0;  // What the client sent, without the CRLF.

  bool operator==(const JobRow&) const = default;
};

// A job that came (no `before`), went (no `after`) or moved. `before` is its state just before.
struct JobMoved {
  JobId id;
  std::optional<JobState> before;
  std::optional<JobRow> after;
  // Whether a client is told: put, delete, release, bury, kick and kick-job promise. A reservation,
  // a timeout, a delay that ends and a closed connection do not, because a restart redoes them.
  bool promised;
};

// A tube got its first job or pause, and so a row.
struct TubeStored {
  TubeId tube;
  std::string name;
};
// A stored tube ended, and its pause with it. Its number is free again. Promised if its cause is.
struct TubeEnded {
  TubeId tube;
};
// pause-tube: promised.
struct TubePaused {
  TubeId tube;
  Nanos
      pause;  // As asked for, at least 1: protocol.txt lets 0 through, which ends a pause at once.
  Nanos until;
};
// A pause ran out: not promised.
struct PauseEnded {
  TubeId tube;
};
// Ids below `next_id` may be given out from here on, none at or above it. It must be on disk,
// synced, before an id of its block is shown to anybody, in every mode of durability (P3).
struct NextIdRaised {
  JobId next_id;
};

using Transition =
    std::variant<JobMoved, TubeStored, TubeEnded, TubePaused, PauseEnded, NextIdRaised>;

// Whether a reply that is given with this transition must wait until it is on disk.
bool is_promised(const Transition& transition);

}  // namespace perennial
