#pragma once

#include <string>

#include "cmd/common/tool/server_connection.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"

namespace perennial::tool {

// A command about all jobs of a tube, which the server carries out in many turns.
struct TubeWalk {
  Command command;
  std::string tube;     // Whose jobs it takes.
  ExtensionSet needed;  // What the server must allow.
  Word success;         // Its reply has the number of jobs.
};

// Connects, runs the command, and returns the number of jobs. Waits as long as it takes.
Result<uint64_t> run_tube_walk(const ServerAddress& address, const TubeWalk& walk);

}  // namespace perennial::tool
