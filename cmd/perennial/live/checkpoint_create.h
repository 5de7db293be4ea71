#pragma once

#include <string>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/subcommand.h"
#include "engine/types/reply.h"
#include "engine/types/status.h"

namespace perennial::tool {

// Asks a running server for a checkpoint, and waits until it is made and verified, however long
// that takes. Says on a terminal that it waits. Io: the server is gone, does not take the command
// from this address, or could not make it; the message says which, and why.
Result<CheckpointMade> request_checkpoint(const std::string& server);
// The same for a temporary one, which is there for as long as this connection is open.
Result<CheckpointMade> request_temporary_checkpoint(ServerConnection& connection);

struct CheckpointCreateOptions {
  std::string server = "127.0.0.1:11300";
  bool json = false;
};

// perennial checkpoint create: prints where the checkpoint is.
Status checkpoint_create(const CheckpointCreateOptions& options);
Subcommand checkpoint_create_command(CheckpointCreateOptions& options);

}  // namespace perennial::tool
