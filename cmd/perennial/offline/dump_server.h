#pragma once

#include "cmd/perennial/offline/dump.h"
#include "engine/types/status.h"

namespace perennial::tool {

// dump of the server at options.server, which goes on: has it make a temporary checkpoint and dumps
// that. The server removes it when the connection closes, however this ends. Io: there is none, or
// it cannot be read from here.
Status dump_server(const DumpOptions& options, int fd);

}  // namespace perennial::tool
