// Jobs that expire, in all tubes, and keys whose time is over.

#include "engine/operations/operations.h"
#include "engine/rules/attempts.h"
#include "engine/rules/keys.h"

namespace perennial::engine {
namespace {

class Expiring final : public Operation {
 public:
  Job* next(State& state) override { return state.jobs.first_expired(); }
  void step(State& state, Job& job) override { expire(state, job, false); }
};

}  // namespace

void end_expired(State& state) {
  Expiring jobs;
  advance(state, jobs);
}

void end_cooldowns(State& state) {
  while (!state.turn.is_over()) {
    const std::optional<Nanos> soonest = state.keys.soonest();
    if (!soonest || *soonest > state.turn.now()) return;
    const KeyTable::Name name = state.keys.first_to_expire();
    free_key(state, name.tube, name.key);
  }
}

}  // namespace perennial::engine
