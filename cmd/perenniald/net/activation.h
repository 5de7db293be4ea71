#pragma once

#include <vector>

#include "cmd/perenniald/net/sockets.h"

namespace perennial::perenniald {

// Every socket that the service manager has opened for us and passed on; none where the process was
// not started by a socket. What is passed and is no stream socket, TCP or unix, is an error.
Result<std::vector<BoundSocket>> activated_sockets();

}  // namespace perennial::perenniald
