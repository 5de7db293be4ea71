#pragma once

#include "cmd/perennial/offline/dump.h"
#include "engine/types/status.h"

namespace perennial::tool {

// dump of the server at options.server, which goes on: has it make a checkpoint, dumps that, and
// removes it. Io: there is no checkpoint, or it cannot be read from here.
Status dump_server(const DumpOptions& options, int fd);

}  // namespace perennial::tool
