#pragma once

#include <map>
#include <string>

#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/config/config.h"

namespace perennial::perenniald {

// The settings that decide what clients are answered, and who may ask, by their names: those in
// which the nodes of a cluster should be alike, because any of them may lead. As text, which holds
// secrets and is for a digest only. `users`: null if everybody may do everything.
std::map<std::string, std::string> shared_settings(const Config& config,
                                                   const access::Users* users);

}  // namespace perennial::perenniald
