#include "engine/tables/state.h"

namespace perennial::engine {

State::State(const Limits& limits_of_engine)
    : limits(limits_of_engine),
      turn(limits),
      tubes(limits, turn),
      conns(turn, fields, tubes),
      jobs(limits, turn, fields, tubes, conns) {
  CHECK(limits.transitions_per_turn_max > 0);
  CHECK(limits.id_block > 0);
  CHECK(limits.cost_per_turn_max > 0);
  CHECK(limits.names_per_part_max > 0);
}

std::optional<Nanos> State::next_deadline(bool go_on) const {
  if (go_on && !left_over.empty()) return turn.now();
  if (!leaving.empty() || !listings.queue.empty() || !tubes.ended.tubes.empty()) return turn.now();
  std::optional<Nanos> soonest = tubes.next_deadline(go_on);
  const auto consider = [&soonest](std::optional<Nanos> at) {
    if (at && (!soonest || *at < *soonest)) soonest = at;
  };
  if (go_on) {
    consider(jobs.soonest_expiry());
    consider(keys.soonest());
  }
  consider(conns.next_deadline());
  return soonest;
}

}  // namespace perennial::engine
