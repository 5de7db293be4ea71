#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/arguments/consent.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"

namespace perennial::tool {

// A command about all jobs of a tube, which the server carries out in many turns.
struct TubeWalk {
  Command command;
  std::string tube;     // Whose jobs it takes.
  ExtensionSet needed;  // What the server must allow.
  Word success;         // Its reply has the number of jobs.
  // Which jobs the command takes, for who is asked.
  StateSet states;
  JobMatch match = {};
  uint64_t count_max = UINT64_MAX;
  std::string_view verb;  // "delete": what it does to them.
  std::string to = {};    // The tube that gets them, if there is one.
  // The result: the name of the number in JSON, and the line for people.
  std::string_view done;  // "deleted"
  std::function<std::string(uint64_t)> line;
};

// Connects, asks if need be, runs the command, and prints the number of jobs. Waits as long as it
// takes. Fails as decide() does.
Status run_tube_walk(const ServerAddress& address, const Consent& consent, const TubeWalk& walk);

}  // namespace perennial::tool
