#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "engine/types/basic.h"
#include "engine/types/option_values.h"

namespace perennial::engine {

struct Conn;

// An operation that may move many jobs is a long operation: it goes on step by step until the turn
// is over, and continues in later turns. Each kind is a struct with its state, and State has these
// functions, overloaded for each kind:
//
//   begin()    runs before the first step. False: the operation waits until a later turn.
//   next()     returns the job of the next step; null when the operation is done, or, with
//              `interrupted`, when the turn was over before the next job was found.
//   step()     makes one transition of that job, or two if a connection waits for it.
//   suspend()  runs when the turn is over before the operation is done.
//
// State::advance() alone calls these functions, so it is the one place that keeps the bound of a
// turn.

// The state that every long operation has.
struct OperationState {
  bool begun = false;
  bool whole = false;        // The operation ends in the turn in which it begins.
  bool interrupted = false;  // next() has looked at jobs until the turn was over.
};

// The command kick. It kicks no job that was buried or delayed after the kick began.
struct Kicking : OperationState {
  Conn* conn;          // The connection that gets the answer at the end.
  uint32_t remaining;  // How many more jobs the kick may kick.
  uint64_t kicked = 0;
  // ---- Set when the kick begins.
  bool buried = false;  // Whether the kick is of buried jobs. Otherwise it is of delayed ones.
  // Buried jobs whose order is at or above this were buried after the kick began.
  uint64_t order_end = 0;
  // The kick of delayed jobs was suspended, and the tube's delayed jobs are split for it.
  bool is_splitting = false;
};

// The reservations of a closed connection end with it.
struct GivingBack : OperationState {
  Conn* conn;
  bool counts;  // Whether its attempts count.
};

// Reservations whose ttr is over while their connection is open.
struct TimingOut : OperationState {
  Conn* conn;
};

// Delays that are over, in all tubes.
struct EndingDelays : OperationState {};

// Jobs that expire, in all tubes.
struct Expiring : OperationState {};

// A walk over jobs in the order of their ids, for the jobs of one tube in some states that fit. It
// finds no job that was put after it began. A job that it has not reached may be reserved, deleted
// or moved by anybody meanwhile.
struct Walk : OperationState {
  Conn* conn;  // The connection that gets the answer at the end.
  // The name, because the number may become that of another tube while the walk is suspended.
  std::string tube;
  StateSet states;
  JobMatch match;
  Nanos asked_at = 0;  // Ages are those of this time, however long the walk takes.
  JobId next_id = 1;   // The walk has passed all ids below.
  JobId end_id = 0;    // The walk ends before this id.
};

// The command flush-tube.
struct Flushing : Walk {
  bool ends_cooldowns = false;  // Those of the tube's keys, after the jobs.
  uint64_t flushed = 0;
};

// The command move-tube.
struct Moving : Walk {
  std::string to;
  uint64_t remaining = 0;  // How many more jobs it may move.
  uint64_t moved = 0;
};

// The command kick-tube.
struct KickingTube : Walk {
  uint64_t kicked = 0;
};

// The operations that a connection keeps between turns. The others need not be kept, because a job
// whose deadline has passed is found again through its deadline.
using LongOperation = std::variant<Kicking, GivingBack, Flushing, Moving, KickingTube>;

}  // namespace perennial::engine
