#pragma once

#include "cmd/perennial/offline/dump.h"
#include "engine/types/status.h"

namespace perennial::tool {

// Dumps the server at options.server, which keeps running. Requests a temporary checkpoint and
// dumps that. The server removes the checkpoint when the connection closes, however this process
// ends. Io: there is no server, or the checkpoint cannot be read from here.
Status dump_server(const DumpOptions& options, int fd);

}  // namespace perennial::tool
