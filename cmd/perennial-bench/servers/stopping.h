#pragma once

#include "cmd/common/tool/stop_signals.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Io when a signal asks for the end: then every server is ended and its directory removed, as after
// any other failure.
inline Status check_stop(tool::StopSignals& signals) {
  return signals.stopped() ? Status(StatusCode::Io, "stopped by a signal") : Status();
}

}  // namespace perennial::bench
