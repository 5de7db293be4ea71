// What the holder of a job does with it: delete, release, bury, touch, and their batches. A batch
// is its single commands, in order, in one input.

#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/commands/commands.h"
#include "engine/rules/attempts.h"
#include "engine/rules/jobs.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// Returns whether the connection may delete the job; if so, it is deleted.
bool remove_for(State& state, Conn& conn, JobId id, bool only_held = false) {
  Job* const job = only_held ? state.jobs.find_reserved(conn, id) : state.jobs.find_free(conn, id);
  if (job == nullptr) return false;
  Tube& tube = state.tube_of(*job);
  ++tube.cmd_delete;
  end_run(state, *job, RunEnd::Deleted);
  remove(state, *job, KeyEnd::Cooldown, {JobEnd::Deleted, state.turn.user()});
  state.tubes.end_if_unused(tube);
  return true;
}

// Returns whether this connection has reserved the job; if so, `left` is left of the reservation,
// or the job's ttr if `left` is 0.
bool touch(State& state, Conn& conn, JobId id, Nanos left) {
  Job* const job = state.jobs.find_reserved(conn, id);
  if (job == nullptr) return false;
  state.jobs.extend(conn, *job,
                    later(state.turn.now(), left > 0 ? left : state.fields.ttr_of(*job)));
  return true;
}

}  // namespace

void run(State& state, Conn& conn, const Delete& command) {
  const bool is_done = remove_for(state, conn, command.id, command.only_held);
  state.turn.answer(conn.id, is_done ? Word::Deleted : Word::NotFound);
}

void run(State& state, Conn& conn, const DeleteBatch& batch) {
  auto done = std::make_unique<BatchDone>(BatchDone{.word = Word::DeletedBatch});
  const absl::flat_hash_set<JobId> hidden(batch.hidden.begin(), batch.hidden.end());
  for (const JobId id : batch.ids) {
    if (!hidden.contains(id) && remove_for(state, conn, id)) {
      ++done->done;
    } else {
      done->missing.push_back(id);
    }
  }
  state.turn.answer(conn.id, std::move(done));
}

void run(State& state, Conn& conn, const Release& release) {
  Job* const job = state.jobs.find_reserved(conn, release.id);
  if (job == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  end_run(state, *job, RunEnd::Released);
  state.count(*job, &JobEnds::released);
  job->priority = release.priority.priority.value_or(job->priority);
  const Nanos delay =
      static_cast<Nanos>(release.delay_s) * nanos_per_second + release.delay_rest_ns;
  state.fields.set_delay(*job, delay);
  ++job->releases;
  const Return how = end_attempt(state, *job, !release.count.given, delay);
  // The answer is appended before the transition, because the job may at once answer the waiting
  // reserve of another connection. The replies of an input are in the order in which things
  // happened.
  state.turn.answer(conn.id, how.to == Return::To::Dead ? Word::Buried : Word::Released);
  give_back(state, *job, how, true);
}

void run(State& state, Conn& conn, const Bury& command) {
  Job* const job = state.jobs.find_reserved(conn, command.id);
  if (job == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  end_run(state, *job, RunEnd::Buried);
  job->priority = command.priority.priority.value_or(job->priority);
  bury(state, *job, true);
  state.turn.answer(conn.id, Word::Buried);
}

void run(State& state, Conn& conn, const Touch& command) {
  const bool is_done = touch(state, conn, command.id, command.ttr.nanos);
  state.turn.answer(conn.id, is_done ? Word::Touched : Word::NotFound);
}

void run(State& state, Conn& conn, const TouchBatch& batch) {
  auto done = std::make_unique<BatchDone>(BatchDone{.word = Word::TouchedBatch});
  // An id that is there twice is missing the second time, as in delete-batch.
  absl::flat_hash_set<JobId> seen;
  for (const JobId id : batch.ids) {
    if (seen.insert(id).second && touch(state, conn, id, batch.ttr.nanos)) {
      ++done->done;
    } else {
      done->missing.push_back(id);
    }
  }
  state.turn.answer(conn.id, std::move(done));
}

}  // namespace perennial::engine
