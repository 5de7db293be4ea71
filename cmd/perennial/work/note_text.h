#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cmd/perennial/work/policy.h"

// The note that a worker leaves at a job whose command has failed. Pure.
namespace perennial::tool::work {

// Whether the command has failed: it exited with another status than 0, died by a signal, ran for
// too long, or was not started. Not when the worker ended it because it ends itself, or because
// the job was lost.
bool is_failure(const Ending& ending);

// The first line says what has happened; behind it are the last errors, if there are any. 1 to
// note_bytes_max bytes. `timeout` is how long the command was allowed to run. REQUIRES:
// is_failure(ending), and `timeout` if the command timed out.
std::string note_text(const Ending& ending, std::optional<std::chrono::seconds> timeout);

}  // namespace perennial::tool::work
