#pragma once

#include "cmd/perenniald/loop/clock.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// How long each part of a turn of the loop may take. Everything on the loop that may go on for long
// asks it between two steps; what one step can take is bounded by core (Options::run_cost_max) and
// by the engine (Limits::moves_per_turn_max, cost_per_turn_max).
//
// A turn has two parts: first what has come is read, and run as far as there is time; then what
// waits is run, and all that core has made is carried away.
class TurnBudget {
 public:
  // The clock outlives this.
  explicit TurnBudget(const TurnClock& clock) : clock_(clock) {}

  // ---- While sockets are told of. For so long what is read is run, too. Of what else has been
  // sent a little is read and waits for its turn, so that batches and answers leave in between,
  // however much is sent by however many.
  bool may_run_at_once() const { return clock_.turn_so_far() <= running_max; }
  // After that nothing is read any more, nor written to those who were full.
  bool may_read() const { return clock_.turn_so_far() <= reading_max; }

  // ---- Before the loop blocks.
  void begin_carrying() { carrying_since_ = clock_.turn_so_far(); }
  // Whether to run another connection that waits for its turn.
  bool may_run() const { return carrying() <= running_max; }
  // Whether to serve another connection that has output.
  bool may_carry() const { return carrying() <= carrying_max; }

 private:
  static constexpr Nanos running_max = 6 * nanos_per_ms;
  static constexpr Nanos reading_max = 9 * nanos_per_ms;
  static constexpr Nanos carrying_max = 12 * nanos_per_ms;

  Nanos carrying() const { return clock_.turn_so_far() - carrying_since_; }

  const TurnClock& clock_;
  Nanos carrying_since_ = 0;
};

}  // namespace perennial::perenniald
