#include "cmd/perenniald/core/held_replies.h"

#include <iterator>

namespace perennial::core {

// A reply could show the effect of any transition, if only because a job is missing. RESERVED shows
// one job only: that it exists, and how it became ready. The reservation itself is recoverable, so
// a crash undoes nothing that the reply says. It would be simpler if RESERVED waited for the newest
// promised transition as well, but a worker would then wait for the syncs of all other clients
// before it could begin a job that is on disk.
BatchIndex HeldReplies::after(const JobReply& reply, const Held& held) const {
  const bool reserved = reply.word == Word::Reserved;
  return after(reserved ? promised_batches_.newest(reply.id) : batches_.last_promised(), held);
}

void HeldReplies::hold(ConnId conn, Held& held, BatchIndex after) {
  if (after <= batches_.committed()) return held.outbox.release(batches_.committed());
  if (held.listed_for == after) return;
  held.listed_for = after;
  const bool is_in_open = after == batches_.open_index();
  if (is_in_open && held.answered_in == commit_delay_.round()) commit_delay_.on_one();
  waiters_for(after).conns.push_back(conn);
}

// The batch is nearly always the newest or the one before, so the search runs from the end.
HeldReplies::Waiters& HeldReplies::waiters_for(BatchIndex after) {
  auto place = waiters_.end();
  while (place != waiters_.begin() && std::prev(place)->after >= after) --place;
  if (place == waiters_.end() || place->after != after) {
    place = waiters_.insert(place, {.after = after, .conns = {}, .commands = {}});
  }
  return *place;
}

// The reply waits for the newest batch for which the connection is listed: hold() has listed it, or
// released the reply.
void HeldReplies::count(const Held& held, const CommandTimes::Start& command) {
  if (held.listed_for <= batches_.committed()) return times_.on_released(command);
  CommandTimes::add(waiters_for(held.listed_for).commands, command);
}

}  // namespace perennial::core
