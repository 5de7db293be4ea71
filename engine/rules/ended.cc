#include "engine/rules/ended.h"

#include <utility>

#include "engine/rules/jobs.h"
#include "engine/rules/keys.h"
#include "engine/rules/serving.h"

namespace perennial::engine {
namespace {

// The key that the job takes again. Null: it has none, has given it up, or the time of it is over,
// which counts from the put whatever became of the job.
const JobKey* key_of(const JobRow& row, Nanos now) {
  if (!row.fields || !row.fields->key || row.fields->key->given_up) return nullptr;
  const JobKey& key = *row.fields->key;
  const bool is_over = key.until == KeyUntil::Ttl && held_until(key, row.created) <= now;
  return is_over ? nullptr : &key;
}

// Another job has the key. A cooldown of the job itself ends with its return.
std::optional<Duplicate> duplicate_of(const State& state, const EndedJob& ended) {
  const JobKey* const key = key_of(ended.row, state.turn.now());
  if (key == nullptr) return std::nullopt;
  const KeyTable::Entry* const entry =
      state.keys.find_taken(ended.tube, key->key, state.turn.now());
  if (entry == nullptr || entry->job == ended.row.id) return std::nullopt;
  Duplicate duplicate = {.id = entry->job, .state = {}};
  if (const Job* const holder = state.jobs.find(entry->job)) duplicate.state = holder->state;
  return duplicate;
}

void give_up_place(State& state, const EndedJob& ended) {
  EndedSpan span = state.ended.of(ended.tube);
  if (span.first == ended.place) ++span.first;
  state.ended.set(ended.tube, span);
  const uint32_t notes = ended.row.fields ? notes_kept(ended.row.fields->notes) : 0;
  state.turn.emit(EndedGone{ended.tube, ended.place, ended.row.id, notes, span});
}

}  // namespace

bool is_kept_after(const State& state, const Job& job) {
  return state.turn.keeps_ended(state.tube_of(job).settings);
}

void keep_ended(State& state, const Job& job, const Ending& ending) {
  const std::string& tube = state.tube_of(job).name;
  EndedSpan span = state.ended.of(tube);
  EndedJob ended = {.row = state.jobs.row_of(job),
                    .tube = tube,
                    .place = span.next++,
                    .how = ending.how,
                    .at = state.turn.now(),
                    .user = std::string(ending.user.substr(0, note_user_bytes_max))};
  ended.row.tube = 0;
  state.ended.set(tube, span);
  // Its rows, in both families of ended jobs and in meta, cost the disk as much as three moves.
  state.turn.emit_counted(JobEnded{std::move(ended), span});
  state.turn.count_transition();
  state.turn.count_transition();
}

Reply restore(State& state, const Restore& event) {
  const EndedJob& ended = event.job;
  const EndedSpan span = state.ended.of(ended.tube);
  if (ended.place < span.first || ended.place >= span.next) return Word::InternalError;
  if (const auto duplicate = duplicate_of(state, ended)) return *duplicate;
  const bool has_key = key_of(ended.row, state.turn.now()) != nullptr;
  const auto refusal = put_refusal(state, ended.tube, 1, has_key ? 1 : 0);
  Tube* const tube = refusal ? nullptr : state.tubes.find_or_make(ended.tube);
  if (tube == nullptr) return count_refusal(state, refusal.value_or(PutRefusal::Tubes));
  give_up_place(state, ended);
  const Job& job = state.jobs.add_again(*tube, ended.row);
  if (has_key) hold_key(state, job);
  for (const Note& note : event.notes) state.turn.emit(NoteStored{job.id, note});
  const JobId id = job.id;
  hand_out(state, *tube);
  return NumberReply{Word::Inserted, id};
}

void end_kept(State& state, const EndedOver& over) {
  EndedSpan span = state.ended.of(over.tube);
  for (const EndedOver::Gone& gone : over.jobs) {
    CHECK(span.first <= gone.place && gone.place < over.first && over.first <= span.next);
    span.first = gone.place + 1;
    state.turn.emit_counted(EndedGone{over.tube, gone.place, gone.job, gone.notes, span});
  }
  if (span.first < over.first && over.first <= span.next) {
    span.first = over.first;
    state.turn.emit(EndedTrimmed{over.tube, span});
  }
  state.ended.set(over.tube, span);
}

}  // namespace perennial::engine
