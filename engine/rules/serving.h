#pragma once

#include <cstdint>
#include <memory>

#include "engine/tables/state.h"
#include "engine/types/option_values.h"
#include "engine/types/reply.h"

// Who gets which job: the choice among the tubes that a connection watches, and among the
// connections that wait for a tube.
namespace perennial::engine {

// The connection reserves the job, from whatever state.
void reserve(State& state, Conn& conn, Job& job);
// Reserves the best ready job of the watched tubes. Null: there is none that may be reserved.
Job* reserve_best(State& state, Conn& conn);
// Reserves up to `count` ready jobs of the watched tubes, the best first. `served`: the tube that
// is being served, which may be a paused one whose pause is about to end.
std::unique_ptr<JobsReserved> reserve_batch(State& state, Conn& conn, uint32_t count,
                                            const JobFacts& with, const Tube* served = nullptr);

// Gives the first ready job to the connection that has waited longest, or the first jobs to one
// that waits for a batch. REQUIRES: a ready job and a waiting connection.
void serve(State& state, Tube& tube);
// Serves until the tube lacks one of them, unless it is paused.
void hand_out(State& state, Tube& tube);
// Serves the tubes from which more may be reserved since this input.
void serve_freed_slots(State& state);

// Ends the wait without a job.
void end_wait(State& state, Conn& conn);
void answer_no_job(State& state, const Conn& conn, bool is_batch);

}  // namespace perennial::engine
