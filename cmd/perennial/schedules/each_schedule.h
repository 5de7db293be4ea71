#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial/schedules/server_schedules.h"

namespace perennial::tool {

// A command that is run for each of several schedules.
struct EachSchedule {
  std::string_view subcommand;  // Precedes the lines about failures.
  std::string_view done;        // "deleted": printed for each success, and the key of JSON.
  std::function<Command(std::string)> command;
  Word success;
  bool json = false;
};

// The names from the command line, each once, in their order. InvalidArgument: one is no name.
Result<std::vector<std::string>> schedule_names(const std::vector<std::string>& given);

// Runs the command for all, and reports each. Returns an error if there was one.
Status run_on_schedules(ServerConnection& server, const std::vector<std::string>& names,
                        const EachSchedule& what);

}  // namespace perennial::tool
