#pragma once

#include <cstdint>

#include "engine/tables/state.h"
#include "engine/types/basic.h"

// What becomes of a job at the end of an attempt: ready, delayed, dead or expired.
namespace perennial::engine {

// What becomes of a job that comes back.
struct Return {
  enum class To : uint8_t { Ready, Delayed, Dead, Expired } to;
  Nanos delay = 0;
};
// Counts the attempt if it `counts`. `delay`: the one that was asked for.
Return end_attempt(State& state, Job& job, bool counts, Nanos delay);
void give_back(State& state, Job& job, const Return& how, bool promised);
// The job is over: it moves to its dead tube, or is deleted. Its tube may end. `promised`: a client
// is told so, because it has released the job.
void expire(State& state, Job& job, bool promised);

}  // namespace perennial::engine
