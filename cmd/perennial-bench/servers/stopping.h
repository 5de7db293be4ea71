#pragma once

#include "cmd/common/tool/stop_signals.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Io if a signal asks the bench to stop. Servers are then ended and directories removed, as after
// any other error.
inline Status check_stop(tool::StopSignals& signals) {
  return signals.stopped() ? Status(StatusCode::Io, "stopped by a signal") : Status();
}

}  // namespace perennial::bench
