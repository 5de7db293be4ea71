#pragma once

#include <string>
#include <vector>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/net/sockets.h"

namespace perennial::perenniald {

// One object of JSON in one line, without its end: where a server that has chosen its port itself
// is reached, for the program that has started it. Its keys are of
// etc/docs/testing.md, "The first line".
std::string announcement(const Config& config, const std::vector<BoundSocket>& sockets,
                         const std::string& version);

}  // namespace perennial::perenniald
