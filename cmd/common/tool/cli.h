#pragma once

#include <vector>

#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// Parses the command line by the table of commands, runs the command that it names, and prints
// errors on standard error. Returns the exit code: 0 for success, 1 for a failure, 2 for bad usage.
// Output that could not be written is a failure, of every command. Closes standard output.
int run_command_line(const std::vector<Subcommand>& commands, const std::vector<Group>& groups,
                     int argc, char** argv);
// The same for a program that is only this one command of the tool.
int run_command_line(const Subcommand& command, int argc, char** argv);

}  // namespace perennial::tool
