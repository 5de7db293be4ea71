#include "engine/tables/state.h"

#include <algorithm>

#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// When the next Tick is due for a schedule. The wall clock is taken to go as the time of the engine
// does; where it is set otherwise, the next Tick sees it.
std::optional<Nanos> next_schedule(const State& state) {
  if (state.limits.calendar == nullptr) return std::nullopt;
  if (!state.uncompared.empty()) return state.turn.now();
  std::optional<Nanos> soonest;
  if (const ScheduleEntry* const first = state.schedules.first_due()) {
    if (state.turn.wall() == 0) return state.turn.now();  // A start: no input has come yet.
    soonest = later(state.turn.now(), std::max<Nanos>(*first->due() - state.turn.wall(), 0));
  }
  if (const ScheduleEntry* const retry = state.schedules.first_retry()) {
    soonest = std::min(soonest.value_or(retry->retry_at), retry->retry_at);
  }
  return soonest;
}

}  // namespace

State::State(const Limits& limits_of_engine)
    : limits(limits_of_engine),
      turn(limits),
      tubes(limits, turn),
      conns(turn, fields, tubes),
      jobs(limits, turn, fields, tubes, conns),
      schedules(limits) {
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
    consider(next_schedule(*this));
  }
  consider(conns.next_deadline());
  return soonest;
}

}  // namespace perennial::engine
