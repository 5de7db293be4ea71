#pragma once

#include <random>
#include <string>

#include "engine/types/image.h"
#include "tests/simulation/server.h"

// Runs in which schedules put jobs. They are blind to cron expressions and `at`, to pauses and
// other changes of a schedule, and to what workers do with the jobs; tests/schedules and
// tests/model have those. No client of the history takes part, because the checker does not know of
// jobs that nobody has put; so it sees no answers, and what is true is read from the image that
// each start finds.
namespace perennial::simulation {

// Each planned time of a schedule has put one job, or is counted as skipped or missed. Returns what
// is not so, or an empty string. REQUIRES: nobody deletes jobs, and no schedule was paused.
std::string wrong_with_schedules(const engine::Image& image);

// Sets a few schedules, unless there are some, and lets time pass while batches are committed. The
// wall clock of the run is ahead of the server's, or behind it, and is set anew at times.
void drive_schedules(Server& server, const History& history, std::mt19937_64& random, int steps);

}  // namespace perennial::simulation
