#include "engine/operations/walk.h"

namespace perennial::engine {

Walk::Walk(State& state, Conn& conn, Word word, const std::string& tube, StateSet states,
           const JobMatch& match)
    : conn_(conn),
      word_(word),
      tube_(tube),
      states_(states),
      match_(match),
      asked_at_(state.turn.now()) {}

bool Walk::begin(State& state) {
  end_id_ = state.jobs.next_id();
  return true;
}

// The tube's own heaps are not used: they are not in the order of ids, so jobs that were put after
// the walk began could not be told from the others without looking at each of them again and again.
Job* Walk::next(State& state) {
  const Tube* const tube = state.tubes.find(tube_);
  if (tube == nullptr || tube->count_in(states_) == 0) return nullptr;
  for (;;) {
    Job* const job = state.jobs.first_from(next_id_);
    if (job == nullptr || job->id >= end_id_) return nullptr;
    const bool is_wanted =
        job->tube == tube->id && states_.holds(job->state) && is_matched(*job, match_, asked_at_);
    if (is_wanted) return job;
    if (state.turn.is_over()) {
      is_interrupted = true;
      return nullptr;
    }
    state.turn.spend(cost::job_looked_at);
    pass(*job);
  }
}

void Walk::finish(State& state) {
  state.turn.answer(conn_.id, NumberReply{word_, moved_});
}

}  // namespace perennial::engine
