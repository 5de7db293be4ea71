#pragma once

#include "cmd/perennial/work/settings.h"
#include "engine/types/status.h"

namespace perennial::tool::work {

// Prints a line for each tube: how many jobs are ready, the one that would be reserved first, and
// the command that would run. Reserves nothing.
Status dry_run(const Settings& settings);

}  // namespace perennial::tool::work
