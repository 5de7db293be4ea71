// The deadlines of connections: a reservation whose ttr is over, and a wait that is.

#include "engine/operations/operations.h"
#include "engine/rules/attempts.h"
#include "engine/rules/jobs.h"
#include "engine/rules/serving.h"

namespace perennial::engine {
namespace {

// Reservations whose ttr is over while their connection is open. What is left over is due at once,
// because its deadline has passed.
class TimingOut final : public Operation {
 public:
  explicit TimingOut(Conn& conn) : conn_(conn) {}

  Job* next(State& state) override {
    if (conn_.reserved->empty()) return nullptr;
    Job* const job = conn_.reserved->top().item;
    return static_cast<Nanos>(job->order) > state.turn.now() ? nullptr : job;
  }
  void step(State& state, Job& job) override {
    ++job.timeouts;
    ++state.counters.job_timeouts;
    ++state.tube_of(job).timeouts;
    end_run(state, job, RunEnd::Timeout);
    give_back(state, job, end_attempt(state, job, true, 0), false);
  }

 private:
  Conn& conn_;
};

void end_deadline(State& state, Conn& conn) {
  if (conn.waiting) {
    // protocol.txt, "reserve": a waiting connection gets DEADLINE_SOON a second before its
    // reservation ends.
    if (state.conns.deadline_soon(conn)) {
      state.conns.stop_waiting(conn);
      state.turn.answer(conn.id, Word::DeadlineSoon);
    } else {
      end_wait(state, conn);
    }
  }
  TimingOut reservations(conn);
  advance(state, reservations);
}

}  // namespace

void end_conn_deadlines(State& state) {
  while (!state.turn.is_over()) {
    Conn* const conn = state.conns.first_due();
    if (conn == nullptr) return;
    end_deadline(state, *conn);
  }
}

}  // namespace perennial::engine
