#pragma once

#include "cmd/perennial/work/log_line.h"
#include "cmd/perennial/work/settings.h"
#include "engine/types/status.h"

namespace perennial::tool::work {

// Runs the runners, each on a thread, until all of them have ended. SIGTERM, SIGINT and SIGHUP stop
// them: they reserve no more, and commands that still run after the grace time are killed. A second
// signal kills them at once. A signal that the process ignored before stays ignored. The error is
// that of the first runner that failed, which stops the others. Returns the exit status.
Result<int> run_pool(const Settings& settings, LogFormat format);

}  // namespace perennial::tool::work
