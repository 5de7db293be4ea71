#pragma once

#include <string>

namespace perennial::perenniald {

// Tells the service manager, if there is one, how the server is: "READY=1", "STATUS=...".
void notify_manager(const std::string& state);

}  // namespace perennial::perenniald
