#pragma once

#include <cstdint>
#include <memory>

#include "engine/types/status.h"
#include "tests/support/server_process.h"

namespace perennial::oracle {

using Server = support::ServerProcess;

// Starts one on a free port. beanstalkd keeps no log, perenniald its data directory.
Result<std::unique_ptr<Server>> start_server(support::Program program, uint32_t job_bytes_max);

// The port of 127.0.0.1 that it listens at.
uint16_t port_of(const Server& server);

}  // namespace perennial::oracle
