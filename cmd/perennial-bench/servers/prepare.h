#pragma once

#include <cstdint>
#include <vector>

#include "cmd/common/tls/client_stream.h"
#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial-bench/servers/target.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Puts one job into each of this many tubes, "bench-0" and up.
Status fill_tubes(const Target& server, uint64_t tubes, uint32_t body_bytes,
                  tool::StopSignals& signals);

// Leaves one buried job in the tube "bench-buried".
Status bury_one_job(const Target& server, uint32_t body_bytes);

// Opens idle connections, which stay open as long as the result exists.
Result<std::vector<common::ClientStream>> open_idle(const Target& server, uint64_t count,
                                                    tool::StopSignals& signals);

// Raises the limit of open files of this process, which its servers inherit, as far as permitted.
// Io: that is not enough for this many connections; the message says what to do.
Status allow_connections(uint64_t count);

}  // namespace perennial::bench
