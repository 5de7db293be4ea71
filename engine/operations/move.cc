// The command move-tube.

#include "engine/operations/operations.h"
#include "engine/operations/walk.h"
#include "engine/rules/jobs.h"
#include "engine/rules/serving.h"

namespace perennial::engine {
namespace {

class Moving final : public Walk {
 public:
  Moving(State& state, Conn& conn, const MoveTube& move)
      : Walk(state, conn, Word::Moved, move.from, move.states, move.match),
        to_(move.to),
        remaining_(move.count.value) {}

  Job* next(State& state) override { return remaining_ > 0 ? Walk::next(state) : nullptr; }
  void step(State& state, Job& job) override;

 private:
  const std::string to_;
  uint64_t remaining_;  // How many more jobs it may move.
};

void Moving::step(State& state, Job& job) {
  pass(job);
  // It is made for the first job, and may end between two turns.
  Tube* const to = state.tubes.find_or_make(to_);
  if (to == nullptr) {
    remaining_ = 0;
    return;
  }
  Tube& from = state.tube_of(job);
  state.tubes.store(*to);
  ++moved_;
  --remaining_;
  // The job begins anew, as after a kick. Otherwise one that has expired while it was buried would
  // be deleted at once.
  state.jobs.renew(job);
  end_run(state, job, RunEnd::Released);
  state.jobs.change(job, true, [&] {
    put_into(state, job, *to);
    job.state = JobState::Ready;
    job.order = 0;
  });
  state.tubes.end_if_unused(from);
  hand_out(state, *to);
}

}  // namespace

std::unique_ptr<Operation> make_move(State& state, Conn& conn, const MoveTube& move) {
  return std::make_unique<Moving>(state, conn, move);
}

}  // namespace perennial::engine
