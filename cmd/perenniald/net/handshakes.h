#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include <uv.h>

#include "cmd/common/newcomers.h"
#include "cmd/common/round_robin.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

struct HandshakeLimits {
  uint64_t ms_max = 10'000;   // How long one may take.
  uint64_t per_turn_max = 4;  // How many make progress in one turn of the loop.
  // Past it no other one does in this turn. Where turns take long anyway, because the disk is slow,
  // it is a quarter of the last one: else thousands that come back at once would wait for minutes.
  Nanos turn_time_max = TurnBudget::handshakes_max;
  uint64_t pending_max = 1'000;  // How many may be under way. Past it one gives way: Newcomers.
  uint64_t per_address_max = 250;
};

// The handshakes that have ended since the start.
struct HandshakeCounts {
  uint64_t full = 0;
  uint64_t resumed = 0;
  // Those that were refused or took too long. A client that left without a word is not among them.
  uint64_t failed = 0;
};

// The handshakes of clients whose stream is not open yet. A step of a handshake costs as much as a
// hundred commands, so only a few are made in each turn, and other clients are served in between.
// Addresses take turns, so that nobody waits behind all handshakes of another address.
class Handshakes {
 public:
  struct Hooks {
    // The time of this connection is over. It is also called if its handshake has ended before.
    std::function<void(ConnId)> expired;
    // Whether nothing of this client waits to be read. One that has sent something waits for its
    // turn, and never gives way: of a thousand clients that connect at once none may be closed.
    std::function<bool(ConnId)> is_silent;
    // This one gives way to a newer one, and has to be closed.
    std::function<void(ConnId)> gives_way;
  };
  // `loop` and `clock` outlive this.
  Handshakes(uv_loop_t& loop, TurnClock& clock, const HandshakeLimits& limits, Hooks hooks);
  ~Handshakes();
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  size_t pending() const { return pending_.count(); }
  // Whether one more may begin: there is a place, or a silent one gives way.
  bool has_slot() { return pending() < limits_.pending_max || pending_.first_to_give_way(); }
  // `address`: common::Newcomers.
  void begin(ConnId conn, const std::string& address);
  // Bytes of the client were read, so it gives way after all others of its address.
  void on_progress(ConnId conn, const std::string& address);
  // A handshake is finished or given up. REQUIRES: it began.
  void end(ConnId conn);
  // Whether this one may make progress now. If so, it counts. Else it waits until next() returns
  // it, and need not be watched meanwhile.
  bool may_go_on(ConnId conn, const std::string& address);
  bool waits(ConnId conn) const { return waiting_.holds(conn); }
  bool has_waiting() const { return !waiting_.empty(); }
  // The next one that waits. It counts as one that makes progress. None: none waits, or as many as
  // may have made progress in this turn.
  std::optional<ConnId> next();
  // Closes its handle, which the loop needs to end.
  void close();

 private:
  struct Deadline {
    ConnId conn;
    Nanos at;
  };
  void arm();
  void on_timer();
  bool has_steps();

  TurnClock& clock_;
  const HandshakeLimits limits_;
  const Hooks hooks_;
  uv_timer_t* timer_;  // Its close callback frees it. Null: closed.
  // In order, because all handshakes have the same time. Those that have ended stay until it is
  // over.
  std::deque<Deadline> deadlines_;
  common::Newcomers pending_;
  common::RoundRobin waiting_;
  Nanos turn_ = 0;  // The time of the turn that steps_ counts for.
  uint64_t steps_ = 0;
  Nanos steps_since_ = 0;  // The first of them, in TurnClock::turn_so_far().
};

}  // namespace perennial::perenniald
