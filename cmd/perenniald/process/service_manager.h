#pragma once

#include <string>

namespace perennial::perenniald {

// Reports the state of the server to the service manager, if there is one: "READY=1", "STATUS=...".
void notify_manager(const std::string& state);
// Whether there is one.
bool has_manager();

}  // namespace perennial::perenniald
