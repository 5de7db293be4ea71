#pragma once

#include <string_view>

#include "engine/tables/state.h"
#include "engine/types/input.h"
#include "engine/types/reply.h"

// Jobs that have ended and are kept for a while, on disk: engine/types/ended_job.h. Which of them
// are due is for core to find out, which reads them.
namespace perennial::engine {

// How a job ends, and by whom. Empty: nobody, or there are no users.
struct Ending {
  JobEnd how;
  std::string_view user = {};
  bool promised = true;  // A client is told that the job is gone.
};

// Whether the job will be kept if it ends now.
bool is_kept_after(const State& state, const Job& job);
// Called when the job has left its heap. REQUIRES: is_kept_after().
void keep_ended(State& state, const Job& job, const Ending& ending);
// The job is put back. Returns what a put of it would be answered.
Reply restore(State& state, const Restore& event);
// The oldest ones of a tube go.
void end_kept(State& state, const EndedOver& over);

}  // namespace perennial::engine
