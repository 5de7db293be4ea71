#pragma once

#include <string>

#include "cmd/common/tool/server_connection.h"
#include "engine/types/reply.h"
#include "engine/types/status.h"

namespace perennial::tool {

// Requests a checkpoint from a running server and waits, without a limit, until it is made and
// verified. Shows on a terminal that it waits. Io: the connection ended, the server refuses the
// command from this address, or the checkpoint failed; the message says which and why.
Result<CheckpointMade> request_checkpoint(const ServerAddress& server);
// Requests a temporary checkpoint, which exists as long as this connection is open.
Result<CheckpointMade> request_temporary_checkpoint(ServerConnection& connection);

}  // namespace perennial::tool
