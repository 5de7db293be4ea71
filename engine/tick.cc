// What time does, in this order: delayed jobs, paused tubes, connections, tubes that closed
// connections leave, jobs that earlier turns left over, and listings.

#include "engine/engine.h"

namespace perennial::engine {

void Engine::on_tick(const Tick& tick) {
  if (tick.go_on) tick_delayed();
  tick_pauses();
  tick_conns();
  tick_leaving();
  if (tick.go_on) tick_left_over();
  tick_listings();
}

void Engine::tick_pauses() {
  while (!turn_is_over() && !tubes_by_pause_.empty()) {
    const auto& first = tubes_by_pause_.top();
    if (static_cast<Nanos>(first.key) > now_) return;
    Tube& tube = *first.item;
    // The pause ends when nobody waits for what is ready, so that no job slips by between two
    // turns.
    while (!tube.ready.empty() && !tube.waiting.empty()) {
      if (turn_is_over()) return;
      serve(tube);
    }
    end_pause(tube);
  }
}

void Engine::tick_conns() {
  while (!turn_is_over() && !conns_by_deadline_.empty()) {
    const auto& first = conns_by_deadline_.top();
    if (static_cast<Nanos>(first.key) > now_) return;
    tick_conn(*first.item);
  }
}

void Engine::tick_conn(Conn& conn) {
  if (conn.waiting) {
    // protocol.txt, "reserve": while it waits, DEADLINE_SOON comes a second before the reservation
    // ends.
    const Word word = deadline_soon(conn) ? Word::DeadlineSoon : Word::TimedOut;
    stop_waiting(conn);
    answer(conn, word);
  }
  time_out(conn);
}

void Engine::tick_leaving() {
  while (!leaving_.empty() && !cost_is_spent()) {
    Conn& conn = conn_of(leaving_.front());
    leave_next_tube(conn);
    if (conn.uses_tube) continue;
    leaving_.pop_front();
    give_back_later(conn);
  }
}

}  // namespace perennial::engine
