#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

namespace perennial::engine {

struct Conn;

// What may move many jobs is a long operation: it goes on step by step until its turn is over, and
// again in turns after that. It is a struct with its state, which comes and goes with what it is
// for, and these functions of Engine, overloaded for it:
//
//   begin()    before its first step. False: it has to wait, and is asked again in a later turn.
//   next()     the job that the next step is about; none: it is done.
//   step()     what it does with that job: one move, or two if a connection waits for the job.
//   suspend()  the turn is over before it is.
//
// Engine::advance() alone runs them, and so is the one place that keeps the bound of a turn.

// What each of them knows of itself.
struct OperationState {
  bool begun = false;
  bool whole = false;  // It goes on to its end in the turn in which it begins.
};

// kick. It kicks no job that joined the tube's buried or delayed ones after it began.
struct Kicking : OperationState {
  Conn* conn;          // Whose it is, and who is answered at its end.
  uint32_t remaining;  // Of the bound that the client gave.
  uint64_t kicked = 0;
  // ---- Decided when it begins.
  bool buried = false;        // Which jobs it kicks.
  uint64_t order_end = 0;     // With buried: those from here on were buried after its start.
  bool is_splitting = false;  // Otherwise, once it has had to stop: its tube's are split for it.
};

// The reservations of a closed connection end with it.
struct GivingBack : OperationState {
  Conn* conn;
};

// Reservations that run out while their connection is there.
struct TimingOut : OperationState {
  Conn* conn;
};

// Delays that are over, of all tubes.
struct EndingDelays : OperationState {};

// Those that a connection holds on to, because nothing else says that they are not done: what time
// does is due again by its deadlines.
using LongOperation = std::variant<Kicking, GivingBack>;

}  // namespace perennial::engine
