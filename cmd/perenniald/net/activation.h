#pragma once

#include <vector>

#include "cmd/perenniald/net/sockets.h"

namespace perennial::perenniald {

// Returns every socket that the service manager has passed on; none if the process was not started
// by a socket unit. InvalidArgument: a passed socket is no TCP or unix stream socket.
Result<std::vector<BoundSocket>> activated_sockets();

}  // namespace perennial::perenniald
