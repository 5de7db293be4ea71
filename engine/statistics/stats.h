#pragma once

#include "engine/tables/state.h"
#include "engine/types/option_values.h"
#include "engine/types/reply.h"
#include "engine/types/stats.h"

namespace perennial::engine {

// What stats-job and stats-tube answer.
JobStats stats_of(const State& state, const Job& job);
// Of a job that has ended. Its options are its own: those of its tube are not in force for it.
JobStats stats_of(const EndedJob& ended, Nanos now);
TubeStats stats_of(const State& state, const Tube& tube);
// Whether the job is in the dead tube of another one.
bool has_died(const State& state, const Job& job);
// Whether others let their dead jobs go to this tube. Nobody reserves them, so they come first.
bool holds_dead(const State& state, const Tube& tube);
// The reply that gives a job to a client, with the facts that it asked for.
JobReply job_reply(const State& state, Word word, const Job& job, const JobFacts& with);

}  // namespace perennial::engine
