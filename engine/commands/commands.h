#pragma once

#include "engine/tables/state.h"
#include "engine/types/command.h"
#include "engine/types/input.h"

// What each command does: an overload of run() for each, so that a command in the table of
// engine/types/command.h without one does not compile. Each answers the connection, at once or when
// it is done. A command has no second one of the same connection while it is unanswered.
namespace perennial::engine {

// put.cc
void run(State& state, Conn& conn, const Put& put);
void run(State& state, Conn& conn, const PutTooBig& put);
void run(State& state, Conn& conn, const PutTrailingJunk& put);
void run(State& state, Conn& conn, const PutNoCrlf& put);
void run(State& state, Conn& conn, const PutBatch& batch);
void run(State& state, Conn& conn, const PutBatchRefused& batch);
void run(State& state, Conn& conn, const Drain& drain);
void run(State& state, Conn& conn, const Undrain& undrain);

// reserve.cc
void run(State& state, Conn& conn, const Reserve& reserve);
void run(State& state, Conn& conn, const ReserveWithTimeout& reserve);
void run(State& state, Conn& conn, const ReserveJob& command);
void run(State& state, Conn& conn, const ReserveBatch& reserve);

// finish.cc
void run(State& state, Conn& conn, const Delete& command);
void run(State& state, Conn& conn, const DeleteBatch& batch);
void run(State& state, Conn& conn, const Release& release);
void run(State& state, Conn& conn, const Bury& command);
void run(State& state, Conn& conn, const Touch& command);
void run(State& state, Conn& conn, const TouchBatch& batch);

// change.cc
void run(State& state, Conn& conn, const Kick& kick);
void run(State& state, Conn& conn, const KickJob& kick);
void run(State& state, Conn& conn, const KickTube& kick);
void run(State& state, Conn& conn, const FlushTube& flush);
void run(State& state, Conn& conn, const MoveTube& move);
void run(State& state, Conn& conn, const SetJob& set);
void run(State& state, Conn& conn, const NoteJob& note);
void run(State& state, Conn& conn, const NoteRefused& note);

// tubes.cc
void run(State& state, Conn& conn, const Use& command);
void run(State& state, Conn& conn, const Watch& command);
void run(State& state, Conn& conn, const Ignore& command);
void run(State& state, Conn& conn, const SetReserveMode& set);
void run(State& state, Conn& conn, const PauseTube& command);
void run(State& state, Conn& conn, const SetTube& set);

// schedules.cc
void run(State& state, Conn& conn, const SetSchedule& set);
void run(State& state, Conn& conn, const ScheduleRefused& refused);
void run(State& state, Conn& conn, const DeleteSchedule& command);
void run(State& state, Conn& conn, const PauseSchedule& command);
void run(State& state, Conn& conn, const RunSchedule& command);

// reads.cc
void run(State& state, Conn& conn, const Peek& peek);
void run(State& state, Conn& conn, const PeekReady& peek);
void run(State& state, Conn& conn, const PeekDelayed& peek);
void run(State& state, Conn& conn, const PeekBuried& peek);
void run(State& state, Conn& conn, const PeekReserved& peek);
void run(State& state, Conn& conn, const Stats& stats);
void run(State& state, Conn& conn, const StatsJob& command);
void run(State& state, Conn& conn, const StatsTube& command);
void run(State& state, Conn& conn, const ListJobs& list);
void run(State& state, Conn& conn, const ListNotes& list);
void run(State& state, Conn& conn, const ListTubes& list);
void run(State& state, Conn& conn, const ListTubeUsed& list);
void run(State& state, Conn& conn, const ListTubesWatched& list);
void run(State& state, Conn& conn, const Malformed& malformed);

}  // namespace perennial::engine
