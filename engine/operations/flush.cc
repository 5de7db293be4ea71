// The command flush-tube.

#include "engine/operations/operations.h"
#include "engine/operations/walk.h"
#include "engine/rules/jobs.h"

namespace perennial::engine {
namespace {

class Flushing final : public Walk {
 public:
  Flushing(State& state, Conn& conn, const FlushTube& flush)
      : Walk(state, conn, Word::Flushed, flush.tube, flush.states.value_or(StateSet::all()),
             flush.match),
        ends_cooldowns_(!flush.states && !flush.match.is_set()),
        user_(state.turn.user()) {}

  Job* next(State& state) override;
  void step(State& state, Job& job) override;

 private:
  const bool ends_cooldowns_;  // Those of the tube's keys, after the jobs.
  const std::string user_;     // Who has asked for it.
};

// After the jobs the cooldowns of the tube end, unless only some jobs are flushed.
Job* Flushing::next(State& state) {
  Job* const job = Walk::next(state);
  if (job != nullptr || is_interrupted || !ends_cooldowns_) return job;
  while (const auto name = state.keys.any_that_expires(tube())) {
    is_interrupted = state.turn.is_over();
    if (is_interrupted) break;
    free_key(state, name->tube, name->key);
  }
  return nullptr;
}

void Flushing::step(State& state, Job& job) {
  pass(job);
  Tube& tube = state.tube_of(job);
  ++moved_;
  ++tube.cmd_delete;
  end_run(state, job, RunEnd::Deleted);
  remove(state, job, KeyEnd::Free, {JobEnd::Flushed, user_});
  state.tubes.end_if_unused(tube);
  // The deletion of a row and a body costs the disk as much as two moves.
  state.turn.count_transition();
}

}  // namespace

std::unique_ptr<Operation> make_flush(State& state, Conn& conn, const FlushTube& flush) {
  return std::make_unique<Flushing>(state, conn, flush);
}

}  // namespace perennial::engine
