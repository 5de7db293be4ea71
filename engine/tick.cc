// What a Tick does, in this order: jobs and keys that expire, delayed jobs, paused tubes, rates,
// connections, tubes that closed connections leave, jobs that earlier turns left over, and
// listings.

#include "engine/state.h"

namespace perennial::engine {

void State::on_tick(const Tick& tick) {
  if (tick.go_on) {
    tick_expiries();
    tick_keys();
    tick_delayed();
  }
  tick_pauses();
  tick_rates();
  tick_conns();
  tick_leaving();
  if (tick.go_on) tick_left_over();
  tick_listings();
}

void State::tick_pauses() {
  while (!turn_.is_over() && !tubes_by_pause_.empty()) {
    const auto& first = tubes_by_pause_.top();
    if (static_cast<Nanos>(first.key) > turn_.now()) return;
    Tube& tube = *first.item;
    // The pause ends only when the tube no longer has both a ready job and a waiting connection.
    // Otherwise a new reserve between two turns would get a job before the connections that have
    // waited longer.
    while (tube.has_servable() && !tube.waiting.empty()) {
      if (turn_.is_over()) return;
      serve(tube);
    }
    end_pause(tube);
  }
}

void State::tick_conns() {
  while (!turn_.is_over() && !conns_by_deadline_.empty()) {
    const auto& first = conns_by_deadline_.top();
    if (static_cast<Nanos>(first.key) > turn_.now()) return;
    tick_conn(*first.item);
  }
}

void State::tick_conn(Conn& conn) {
  if (conn.waiting) {
    // protocol.txt, "reserve": a waiting connection gets DEADLINE_SOON a second before its
    // reservation ends.
    if (deadline_soon(conn)) {
      stop_waiting(conn);
      answer(conn, Word::DeadlineSoon);
    } else {
      end_wait(conn);
    }
  }
  time_out(conn);
}

void State::tick_leaving() {
  while (!leaving_.empty() && !turn_.cost_is_spent()) {
    Conn& conn = conn_of(leaving_.front());
    leave_next_tube(conn);
    if (conn.uses_tube) continue;
    leaving_.pop_front();
    give_back_later(conn);
  }
}

}  // namespace perennial::engine
