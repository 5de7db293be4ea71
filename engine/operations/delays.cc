// What a tube waits for: delays of its jobs, the end of its pause, a token of its rate.

#include "engine/operations/operations.h"
#include "engine/rules/jobs.h"
#include "engine/rules/serving.h"

namespace perennial::engine {
namespace {

// Delays that are over, in all tubes.
class EndingDelays final : public Operation {
 public:
  Job* next(State& state) override {
    const Tube* const tube = state.tubes.soonest_delayed();
    if (tube == nullptr) return nullptr;
    const JobHeap::Entry& soonest = tube->delayed->top();
    return static_cast<Nanos>(soonest.key) > state.turn.now() ? nullptr : soonest.item;
  }
  void step(State& state, Job& job) override { move_to_ready(state, job, false); }
};

}  // namespace

void end_delays(State& state) {
  EndingDelays delays;
  advance(state, delays);
}

void end_pauses(State& state) {
  while (!state.turn.is_over()) {
    Tube* const tube = state.tubes.first_pause_over();
    if (tube == nullptr) return;
    // The pause ends only when the tube no longer has both a ready job and a waiting connection.
    // Otherwise a new reserve between two turns would get a job before the connections that have
    // waited longer.
    while (tube->has_servable() && !tube->waiting.empty()) {
      if (state.turn.is_over()) return;
      serve(state, *tube);
    }
    state.tubes.end_pause(*tube);
  }
}

void refill_rates(State& state) {
  while (!state.turn.is_over()) {
    Tube* const tube = state.tubes.take_refilled();
    if (tube == nullptr) return;
    state.turn.spend(cost::tube_left);
    hand_out(state, *tube);
  }
}

}  // namespace perennial::engine
