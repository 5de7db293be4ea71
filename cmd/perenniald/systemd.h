#pragma once

#include <string>
#include <vector>

#include "cmd/perenniald/sockets.h"

// The service manager's two protocols: sockets that it opened for us, and the word that we are
// ready.
namespace perennial::perenniald {

// Every socket that was passed; none where the process was not started by a socket. What is passed
// and is no stream socket, TCP or unix, is an error.
Result<std::vector<BoundSocket>> activated_sockets();

// Tells the service manager, if there is one: "READY=1", "STATUS=...".
void notify_manager(const std::string& state);

}  // namespace perennial::perenniald
