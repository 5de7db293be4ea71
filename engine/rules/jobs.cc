#include "engine/rules/jobs.h"

#include <array>
#include <tuple>
#include <utility>

#include "engine/rules/serving.h"

namespace perennial::engine {

JobId add_job(State& state, Tube& tube, const Put& put, const ScheduleOrigin* origin) {
  const Job& job = state.jobs.add(tube, put, origin);
  hold_key(state, job);
  return job.id;
}

std::optional<PutRefusal> put_refusal(const State& state, std::string_view tube, size_t jobs,
                                      size_t keys) {
  const Limits& limits = state.limits;
  if (state.is_draining || state.tubes.settings().is_draining(tube)) return PutRefusal::Draining;
  if (!state.turn.accepts_puts()) return PutRefusal::Space;
  if (limits.jobs_max != 0 && state.jobs.size() + jobs > limits.jobs_max) return PutRefusal::Jobs;
  const bool has_keys = limits.keys_max == 0 || state.keys.size() + keys <= limits.keys_max;
  if (keys > 0 && !has_keys) return PutRefusal::Keys;
  return std::nullopt;
}

// A producer that has lost its answer gets it even where no put is accepted.
PutAdmission admit_put(State& state, const std::string& name, Tube* tube, const Put& put,
                       const Job* replaced) {
  const bool gets_key = replaced != nullptr && holds_key_of(state, *replaced, name, put);
  if (!gets_key) {
    if (const auto duplicate = find_duplicate(state, name, put)) return *duplicate;
  }
  const size_t jobs = replaced != nullptr ? 0 : 1;
  const size_t keys = put.options && put.options->key && !gets_key ? 1 : 0;
  if (const auto refusal = put_refusal(state, name, jobs, keys)) return *refusal;
  if (tube == nullptr) tube = state.tubes.find_or_make(name);
  if (tube == nullptr) return PutRefusal::Tubes;
  return tube;
}

Word count_refusal(State& state, PutRefusal why) {
  ++state.counters.puts_refused[static_cast<size_t>(why)];
  return word_of(why);
}

Word word_of(PutRefusal why) {
  constexpr std::array words = {Word::Draining,    Word::OutOfMemory, Word::OutOfMemory,
                                Word::OutOfMemory, Word::OutOfMemory, Word::JobTooBig,
                                Word::ExpectedCrlf};
  static_assert(words.size() == std::tuple_size_v<PutRefusals>);
  return words[static_cast<size_t>(why)];
}

void remove(State& state, Job& job, KeyEnd key_end, const Ending& ending) {
  if (ending.how != JobEnd::Expired) state.count(job, &JobEnds::deleted);
  const bool is_kept = is_kept_after(state, job);
  const Boxed<TubeSettings>& settings = state.tube_of(job).settings;
  if (!is_kept && settings && keeps_ended(*settings)) ++state.counters.ended_not_kept;
  state.jobs.remove(job, ending.promised, [&] {
    if (is_kept) keep_ended(state, job, ending);
    end_key(state, job, key_end);
    if (is_kept) return;
    const JobFields* const fields = state.fields.of(job);
    if (fields != nullptr && fields->notes > 0) {
      state.turn.emit(NotesRemoved{job.id, notes_kept(fields->notes)});
    }
  });
}

void bury(State& state, Job& job, bool promised) {
  ++job.buries;
  state.count(job, &JobEnds::buried);
  state.jobs.bury(job, promised);
}

void move_to_ready(State& state, Job& job, bool promised) {
  state.jobs.move(job, JobState::Ready, 0, promised);
  hand_out(state, state.tube_of(job));
}

void count_kick(State& state, Job& job) {
  ++job.kicks;
  state.count(job, &JobEnds::kicked);
  state.jobs.renew(job);
}

void add_note(State& state, Job& job, const NoteJob& said) {
  Note note = {.attempt = job.reserves,
               .time = state.turn.now(),
               .user = said.user.substr(0, note_user_bytes_max),
               .text = said.text};
  state.jobs.change(job, true, [&] { note.number = ++state.fields.make(job).notes; });
  state.turn.emit(NoteStored{job.id, std::move(note)});
}

void put_into(State& state, Job& job, Tube& to) {
  if (job.tube == to.id) return;
  end_key(state, job, KeyEnd::Free);
  if (JobFields* const fields = state.fields.of(job)) {
    fields->key.reset();
    fields->from.clear();
    state.fields.drop_if_empty(job);
  }
  job.tube = to.id;
}

void end_run(State& state, const Job& job, RunEnd how) {
  if (job.state != JobState::Reserved) return;
  const Tube& tube = state.tube_of(job);
  const Nanos since = tube.reserved->at(job.id);
  if (since == 0) return;
  const Nanos length = state.turn.now() - since;
  state.counters.work_times.run_of(how).record_time(length);
  if (tube.times != nullptr) tube.times->run.record_time(length);
}

}  // namespace perennial::engine
