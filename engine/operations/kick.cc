// The command kick. It kicks no job that was buried or delayed after the kick began.

#include <algorithm>

#include "engine/operations/operations.h"
#include "engine/rules/jobs.h"

namespace perennial::engine {
namespace {

class Kicking final : public Operation {
 public:
  Kicking(Conn& conn, uint32_t bound) : conn_(conn), remaining_(bound) {}

  bool begin(State& state) override;
  Job* next(State& state) override;
  void step(State& state, Job& job) override;
  void suspend(State& state) override;
  void finish(State& state) override;
  void abandon(State& state) override;
  uint64_t moved() const override { return kicked_; }

 private:
  Tube& used_tube(State& state) const { return state.tubes.of(conn_.used); }

  Conn& conn_;          // The connection that gets the answer at the end.
  uint32_t remaining_;  // How many more jobs the kick may kick.
  uint64_t kicked_ = 0;
  // ---- Set when the kick begins.
  bool is_of_buried_ = false;  // Otherwise it is of delayed ones.
  // Buried jobs whose order is at or above this were buried after the kick began.
  uint64_t order_end_ = 0;
  // The kick of delayed jobs was suspended, and the tube's delayed jobs are split for it.
  bool is_splitting_ = false;
};

// protocol.txt, "kick": if there are any buried jobs it only kicks buried jobs, otherwise delayed
// ones. A kick moves no job that was buried or delayed after it began. When several kicks of one
// tube's delayed jobs take several turns, each waits for those before it.
bool Kicking::begin(State& state) {
  Tube& tube = used_tube(state);
  is_of_buried_ = !tube.buried->empty();
  const size_t count = is_of_buried_ ? tube.buried->size() : tube.delayed->size();
  remaining_ = static_cast<uint32_t>(std::min<size_t>(remaining_, count));
  order_end_ = state.jobs.next_bury_order();
  if (is_of_buried_ || tube.delayed->may_split()) return true;
  // Only waiting connections could make this kick cost more than one transition for each job.
  is_whole = tube.waiting.empty() && state.turn.has_place_for(remaining_);
  if (is_whole) return true;
  if (tube.delayed->is_split()) return false;
  // A job that is joined counts as a transition, so that the bound of a turn limits this loop, too.
  for (; !tube.delayed->is_joined(); state.turn.count_transition()) {
    if (state.turn.is_over()) return false;
    state.jobs.join_one_delayed(tube);
  }
  return true;
}

Job* Kicking::next(State& state) {
  if (remaining_ == 0) return nullptr;
  const Tube& tube = used_tube(state);
  if (is_splitting_) return tube.delayed->first_of_before();
  if (!is_of_buried_) return tube.delayed->empty() ? nullptr : tube.delayed->top().item;
  if (tube.buried->empty()) return nullptr;
  Job* const job = tube.buried->top().item;
  // A job at or above the end was buried after the kick began, perhaps after this kick had moved
  // it.
  return job->order < order_end_ ? job : nullptr;
}

void Kicking::step(State& state, Job& job) {
  count_kick(state, job);
  ++kicked_;
  --remaining_;
  move_to_ready(state, job, true);
}

void Kicking::suspend(State& state) {
  if (is_of_buried_ || is_splitting_) return;
  state.jobs.split_delayed(used_tube(state));
  is_splitting_ = true;
}

void Kicking::finish(State& state) {
  state.turn.answer(conn_.id, NumberReply{Word::KickedCount, kicked_});
  abandon(state);
}

void Kicking::abandon(State& state) {
  if (is_splitting_) state.jobs.end_split_delayed(used_tube(state));
}

}  // namespace

std::unique_ptr<Operation> make_kick(Conn& conn, uint32_t bound) {
  return std::make_unique<Kicking>(conn, bound);
}

}  // namespace perennial::engine
