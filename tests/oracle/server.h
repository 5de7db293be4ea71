#pragma once

#include <cstdint>
#include <memory>

#include "engine/types/status.h"
#include "tests/support/server_process.h"

namespace perennial::oracle {

using Server = support::ServerProcess;

// Which extensions of perenniald are allowed: none, or all, which is the default of the server.
enum class Beyond : uint8_t { Nothing, Everything };

// Starts a server on a free port. beanstalkd runs without a log, perenniald with a data directory.
Result<std::unique_ptr<Server>> start_server(support::Program program, uint32_t job_bytes_max,
                                             Beyond beyond = Beyond::Nothing);

// The port on 127.0.0.1 on which the server listens.
uint16_t port_of(const Server& server);

}  // namespace perennial::oracle
