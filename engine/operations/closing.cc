// The end of a connection. protocol.txt, "reserve": its reserved jobs become ready. No counter of
// the job counts it.

#include "engine/operations/operations.h"
#include "engine/rules/attempts.h"
#include "engine/rules/jobs.h"

namespace perennial::engine {
namespace {

class GivingBack final : public Operation {
 public:
  explicit GivingBack(Conn& conn) : conn_(conn) {}

  Job* next(State& /*state*/) override {
    return conn_.reserved->empty() ? nullptr : conn_.reserved->top().item;
  }
  void step(State& state, Job& job) override {
    end_run(state, job, RunEnd::Closed);
    give_back(state, job, end_attempt(state, job, conn_.attempts_count, 0), false);
  }
  void finish(State& state) override { state.conns.erase(conn_.id); }

 private:
  Conn& conn_;
};

}  // namespace

void close(State& state, Conn& conn, bool attempts_count) {
  state.conns.begin_close(conn, attempts_count);
  // A kick that is in progress ends where it is.
  abandon(state, conn);
  while (conn.uses_tube && !state.turn.cost_is_spent()) state.conns.leave_next_tube(conn);
  if (conn.uses_tube) return state.leaving.push_back(conn.id);
  start(state, conn, std::make_unique<GivingBack>(conn));
}

void give_back_later(State& state, Conn& conn) {
  conn.operation = std::make_unique<GivingBack>(conn);
  state.left_over.push_back(conn.id);
}

void leave_tubes(State& state) {
  while (!state.leaving.empty() && !state.turn.cost_is_spent()) {
    Conn& conn = state.conns.of(state.leaving.front());
    state.conns.leave_next_tube(conn);
    if (conn.uses_tube) continue;
    state.leaving.pop_front();
    give_back_later(state, conn);
  }
}

}  // namespace perennial::engine
