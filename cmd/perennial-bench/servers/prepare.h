#pragma once

#include <cstdint>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/common/socket.h"
#include "cmd/common/tool/stop_signals.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Puts one job into each of so many tubes, "bench-0" and up.
Status fill_tubes(const common::Address& server, uint64_t tubes, uint32_t body_bytes,
                  tool::StopSignals& signals);

// Leaves one buried job in the tube "bench-buried".
Status bury_one_job(const common::Address& server, uint32_t body_bytes);

// Connections that say nothing; they last as long as what this returns.
Result<std::vector<common::Socket>> open_idle(const common::Address& server, uint64_t count,
                                              tool::StopSignals& signals);

// Raises the limit of open files of this process, and of the servers that it starts, as far as it
// may. Io, with what to do, when that is not enough for so many connections.
Status allow_connections(uint64_t count);

}  // namespace perennial::bench
