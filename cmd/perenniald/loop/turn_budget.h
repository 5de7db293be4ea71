#pragma once

#include <cstddef>

#include "cmd/perenniald/loop/clock.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// How long each part of a turn of the loop may take. Everything on the loop that may take long asks
// the budget between two steps. Each step is bounded, too: here by bytes, elsewhere by costs that
// need no clock (core::RunBudget for the commands of one connection, engine::Limits for
// transitions).
//
// A turn has two parts. In the first, clients are accepted, and their bytes are read, and run while
// there is time. In the second, waiting commands are run, and all output of core is written.
class TurnBudget {
 public:
  // The bytes of one read, while there is time to run them.
  static constexpr size_t read_bytes_max = 64 << 10;
  // The bytes that one write gives to the kernel. The rest follows in the next visit.
  static constexpr size_t write_bytes_max = 1 << 20;
  // The same to a client of HTTP, whose answers may be much longer.
  static constexpr size_t http_write_bytes_max = 128 << 10;

  // `clock` outlives this.
  explicit TurnBudget(const TurnClock& clock) : clock_(clock) {}

  // ---- While sockets are ready. For this long, bytes that are read are also run. After that a
  // little of each client is read and waits for its turn. So batches and answers leave in between,
  // no matter how much how many clients send.
  bool may_run_at_once() const { return clock_.turn_so_far() <= running_max; }
  // After that nothing more is read, and nothing is written to clients whose streams were full.
  bool may_read() const { return clock_.turn_so_far() <= reading_max; }
  // The bytes of one read of a connection that has to wait for its turn.
  static constexpr size_t read_later_bytes_max = 4 << 10;
  // After that no more handshakes go on in this turn, but one always does: it takes as long as a
  // hundred commands.
  static constexpr Nanos handshakes_max = nanos_per_ms / 5;
  // Whether to accept one more client after `accepted` in a row. Many clients that connect at once
  // must not delay those that are connected. A few are always accepted, so that busy clients do not
  // keep new ones out.
  bool may_accept(size_t accepted) const {
    return accepted < accepted_min || (accepted < accepted_max && may_read());
  }

  // ---- Before the loop blocks.
  void begin_processing() { processing_since_ = clock_.turn_so_far(); }
  // Whether to run another connection that waits for its turn.
  bool may_run() const { return processing() <= running_max; }
  // Whether to serve another connection that has output.
  bool may_serve() const { return processing() <= processing_max; }
  // After that requests over HTTP, which come last, go on in the next turn. A client of the queue
  // waits as long for them as for another one.
  static constexpr Nanos requests_max = nanos_per_ms / 5;
  // Whether to poll the sockets once more for clients that were just answered, before the open
  // batch goes to the log. `turns`: how often in a row this was done.
  static bool may_poll_again(unsigned turns) { return turns < extra_polls_max; }

 private:
  static constexpr Nanos running_max = 6 * nanos_per_ms;
  static constexpr Nanos reading_max = 9 * nanos_per_ms;
  static constexpr Nanos processing_max = 12 * nanos_per_ms;
  static constexpr size_t accepted_min = 8;
  static constexpr size_t accepted_max = 64;
  static constexpr unsigned extra_polls_max = 4;

  Nanos processing() const { return clock_.turn_so_far() - processing_since_; }

  const TurnClock& clock_;
  Nanos processing_since_ = 0;
};

}  // namespace perennial::perenniald
