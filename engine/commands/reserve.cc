// The commands that reserve.

#include <utility>

#include "engine/commands/commands.h"
#include "engine/rules/serving.h"
#include "engine/statistics/stats.h"

namespace perennial::engine {
namespace {

// The facts that a reservation asks for.
JobFacts facts_of(const auto& reserve) {
  return reserve.options ? reserve.options->with : JobFacts();
}

void wait_or_reserve(State& state, Conn& conn, const Wait& wait) {
  Turn& turn = state.turn;
  state.conns.count_as_worker(conn);
  if (conn.reserved->size() >= state.limits.reserved_max) {
    return turn.answer(conn.id, Word::OutOfMemory);
  }
  // A ready job comes before DEADLINE_SOON. beanstalkd's code does so, and its protocol.txt says
  // otherwise.
  if (wait.batch > 0) {
    auto batch = reserve_batch(state, conn, wait.batch, wait.with);
    if (!batch->jobs.empty()) return turn.answer(conn.id, std::move(batch));
  } else if (const Job* const job = reserve_best(state, conn)) {
    return turn.answer(conn.id, job_reply(state, Word::Reserved, *job, wait.with));
  }
  if (state.conns.deadline_soon(conn)) return turn.answer(conn.id, Word::DeadlineSoon);
  if (conn.half_closed || wait.timeout == 0) return answer_no_job(state, conn, wait.batch > 0);
  state.conns.start_waiting(conn, wait);
}

}  // namespace

void run(State& state, Conn& conn, const Reserve& reserve) {
  wait_or_reserve(state, conn, {.timeout = {}, .with = facts_of(reserve)});
}

void run(State& state, Conn& conn, const ReserveWithTimeout& reserve) {
  const Nanos timeout =
      static_cast<Nanos>(reserve.timeout_s) * nanos_per_second + reserve.timeout_rest_ns;
  wait_or_reserve(state, conn, {.timeout = timeout, .with = facts_of(reserve)});
}

void run(State& state, Conn& conn, const ReserveBatch& reserve) {
  wait_or_reserve(state, conn,
                  {.timeout = reserve.wait.nanos,
                   .with = facts_of(reserve),
                   .batch = static_cast<uint32_t>(reserve.count.value)});
}

void run(State& state, Conn& conn, const ReserveJob& command) {
  Job* const job = state.jobs.find(command.id);
  const bool is_free = job != nullptr && job->state != JobState::Reserved;
  if (!is_free || state.jobs.has_expired(*job) || state.jobs.is_parked(*job)) {
    return state.turn.answer(conn.id, Word::NotFound);
  }
  if (conn.reserved->size() >= state.limits.reserved_max) {
    return state.turn.answer(conn.id, Word::OutOfMemory);
  }
  state.conns.count_as_worker(conn);
  reserve(state, conn, *job);
  state.turn.answer(conn.id, job_reply(state, Word::Reserved, *job, command.with));
}

}  // namespace perennial::engine
