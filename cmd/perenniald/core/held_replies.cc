#include "cmd/perenniald/core/held_replies.h"

#include <iterator>

namespace perennial::core {

// Most could tell of anything that has happened, if only by what is not there any more. RESERVED
// says something of one job: that it is there, and how it came to be ready. The reservation itself
// is nothing that a crash could undo for anybody.
BatchIndex HeldReplies::after(const Reply& reply, const Held& held) const {
  const auto* const job = std::get_if<JobReply>(&reply);
  const bool reserved = job != nullptr && job->kind == JobReply::Kind::Reserved;
  return after(reserved ? promises_.newest(job->id) : batches_.last_promised(), held);
}

void HeldReplies::hold(ConnId conn, Held& held, BatchIndex after) {
  if (after <= batches_.answerable()) return held.outbox.release(batches_.answerable());
  if (held.listed_for == after) return;
  held.listed_for = after;
  const bool is_in_open = after == batches_.open_index();
  if (is_in_open && held.answered_in == company_.round()) company_.on_one();
  // Nearly always for the newest, or the one before.
  auto place = holders_.end();
  while (place != holders_.begin() && std::prev(place)->after >= after) --place;
  if (place == holders_.end() || place->after != after) place = holders_.insert(place, {after, {}});
  place->conns.push_back(conn);
}

}  // namespace perennial::core
