#pragma once

#include <vector>

#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// Reads the command line by the table of commands, runs the one that it names, and says what went
// wrong on standard error. Returns the exit code: 0 done, 1 failed, 2 bad usage.
int run_command_line(const std::vector<Subcommand>& commands, const std::vector<Group>& groups,
                     int argc, char** argv);
// The same for a program that is one command of the tool and nothing else.
int run_command_line(const Subcommand& command, int argc, char** argv);

}  // namespace perennial::tool
