#pragma once

#include "engine/rules/keys.h"
#include "engine/tables/state.h"
#include "engine/types/command.h"
#include "engine/types/stats.h"

// What becomes of a job, apart from the end of an attempt (attempts.h): it is put, moved, kicked,
// buried and removed, and who waits for it is served.
namespace perennial::engine {

// Puts a job, which takes its key. It is not handed out yet.
JobId add_job(State& state, Tube& tube, const Put& put);
// The job has a further note.
void add_note(State& state, Job& job, const NoteJob& said);
// Removes the job, and its notes with it. The caller ends its tube if that is unused then.
void remove(State& state, Job& job, KeyEnd key_end, bool promised);
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
