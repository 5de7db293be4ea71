#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/rules/ended.h"
#include "engine/rules/keys.h"
#include "engine/tables/state.h"
#include "engine/types/command.h"
#include "engine/types/reply.h"
#include "engine/types/stats.h"

// What becomes of a job, apart from the end of an attempt (attempts.h): it is put, moved, kicked,
// buried and removed, and who waits for it is served.
namespace perennial::engine {

// Why a put of so many jobs and keys into the tube is refused, as far as that is known before the
// tube is made.
std::optional<PutRefusal> put_refusal(const State& state, std::string_view tube, size_t jobs,
                                      size_t keys);
// What becomes of a put: its tube, where a job may be added now; the job that has its key already,
// which is counted; or why it is refused, which the caller counts. Every put goes this way.
// `name`: of the tube, which is made if it is not there. `tube`: the same, if the caller knows it.
// `replaced`: a job that the caller removes before it adds the new one.
using PutAdmission = std::variant<Tube*, Duplicate, PutRefusal>;
PutAdmission admit_put(State& state, const std::string& name, Tube* tube, const Put& put,
                       const Job* replaced = nullptr);
// What a client is answered.
Word word_of(PutRefusal why);
// Counts it, and returns the answer.
Word count_refusal(State& state, PutRefusal why);
// Puts a job, which takes its key. It is not handed out yet. `origin`: the schedule that puts it.
JobId add_job(State& state, Tube& tube, const Put& put, const ScheduleOrigin* origin = nullptr);
// The job has a further note.
void add_note(State& state, Job& job, const NoteJob& said);
// Removes the job, and its notes with it, unless its tube keeps what ends. The caller ends its tube
// if that is unused then.
void remove(State& state, Job& job, KeyEnd key_end, const Ending& ending);
void bury(State& state, Job& job, bool promised);
// Makes the job ready, and hands it out.
void move_to_ready(State& state, Job& job, bool promised);
// Counts the kick. The job begins anew, but is not moved yet.
void count_kick(State& state, Job& job);
// Called within a change of the job: it is in another tube, which is stored. Frees its key, whose
// scope is the tube.
void put_into(State& state, Job& job, Tube& to);
// Called before the job leaves its connection, if it is reserved: counts how long it was.
void end_run(State& state, const Job& job, RunEnd how);

}  // namespace perennial::engine
