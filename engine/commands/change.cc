// What changes jobs from outside: kick, kick-job, kick-tube, flush-tube, move-tube, set-job, note.

#include <utility>

#include "engine/commands/commands.h"
#include "engine/operations/operations.h"
#include "engine/rules/jobs.h"
#include "engine/rules/serving.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// A delay only for a job that is ready or delayed.
bool allows(const SetJob& set, const Job& job) {
  return !set.delay || job.state == JobState::Ready || job.state == JobState::Delayed;
}

// A new ttr is used by the next touch or reservation. `to`: null: the job stays in its tube.
void edit(State& state, Job& job, const SetJob& set, Tube* to) {
  const Nanos now = state.turn.now();
  job.priority = set.priority.value_or(job.priority);
  if (set.ttr) state.fields.set_ttr(job, set.ttr->nanos);
  if (to != nullptr) put_into(state, job, *to);
  if (set.delay) {
    state.fields.set_delay(job, set.delay->nanos);
    job.state = set.delay->nanos > 0 ? JobState::Delayed : JobState::Ready;
    job.order = set.delay->nanos > 0 ? static_cast<uint64_t>(later(now, set.delay->nanos)) : 0;
  }
  if (!set.expire.given && !set.tries.given && !set.backoff.given && !set.dead.given) return;
  JobFields& fields = state.fields.make(job);
  if (set.expire.given)
    fields.expires_at = set.expire.value ? later(now, set.expire.value->nanos) : 0;
  if (set.tries.given) {
    fields.tries = set.tries.value ? static_cast<uint32_t>(set.tries.value->value) : 0;
  }
  set.backoff.apply(fields.backoff);
  if (set.dead.given) fields.dead = set.dead.value.value_or("");
  state.fields.drop_if_empty(job);
}

}  // namespace

void run(State& state, Conn& conn, const Kick& kick) {
  start(state, conn, make_kick(conn, kick.bound));
}

void run(State& state, Conn& conn, const KickJob& kick) {
  Job* const job = state.jobs.find(kick.id);
  if (job == nullptr || (job->state != JobState::Buried && job->state != JobState::Delayed)) {
    return state.turn.answer(conn.id, Word::NotFound);
  }
  count_kick(state, *job);
  state.turn.answer(conn.id, Word::Kicked);
  move_to_ready(state, *job, true);
}

void run(State& state, Conn& conn, const KickTube& kick) {
  if (state.tubes.find(kick.tube) == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  start(state, conn, make_kick_tube(state, conn, kick));
}

void run(State& state, Conn& conn, const FlushTube& flush) {
  const bool is_there =
      state.tubes.find(flush.tube) != nullptr || state.keys.any_that_expires(flush.tube);
  if (!is_there) return state.turn.answer(conn.id, Word::NotFound);
  start(state, conn, make_flush(state, conn, flush));
}

void run(State& state, Conn& conn, const MoveTube& move) {
  if (state.tubes.find(move.from) == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  const bool has_tube = state.tubes.find(move.to) != nullptr || state.tubes.may_make();
  if (!has_tube) return state.turn.answer(conn.id, Word::OutOfMemory);
  start(state, conn, make_move(state, conn, move));
}

void run(State& state, Conn& conn, const SetJob& set) {
  Job* const job = state.jobs.find_free(conn, set.id);
  if (job == nullptr || !allows(set, *job)) return state.turn.answer(conn.id, Word::NotFound);
  Tube* const to = set.tube.empty() ? nullptr : state.tubes.find_or_make(set.tube);
  if (to == nullptr && !set.tube.empty()) return state.turn.answer(conn.id, Word::OutOfMemory);
  if (to != nullptr) state.tubes.store(*to);
  Tube& from = state.tube_of(*job);
  state.jobs.change(*job, true, [&] { edit(state, *job, set, to); });
  state.turn.answer(conn.id, Word::Set);
  hand_out(state, state.tube_of(*job));
  if (to != nullptr && to != &from) state.tubes.end_if_unused(from);
}

// Whoever may write to a job that somebody else has reserved is a rule of access. A note takes
// space on the disk, so it is refused where a put is, but for a drain.
void run(State& state, Conn& conn, const NoteJob& note) {
  Job* const job =
      note.only_held ? state.jobs.find_reserved(conn, note.id) : state.jobs.find(note.id);
  if (job == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  if (!state.turn.accepts_puts() || note.text.empty()) {
    return state.turn.answer(conn.id, Word::OutOfMemory);
  }
  add_note(state, *job, note);
  state.turn.answer(conn.id, Word::Noted);
}

void run(State& state, Conn& conn, const NoteRefused& note) {
  switch (note.why) {
    case NoteRefused::Why::BadFormat:
      return state.turn.answer(conn.id, Word::BadFormat);
    case NoteRefused::Why::TooBig:
      return state.turn.answer(conn.id, Word::JobTooBig);
    case NoteRefused::Why::ExpectedCrlf:
      return state.turn.answer(conn.id, Word::ExpectedCrlf);
  }
}

}  // namespace perennial::engine
