#pragma once

#include <string>
#include <vector>

#include "engine/types/status.h"

namespace perennial::tool {

// Returns the path of a program in the directory of the running program. The file need not exist.
Result<std::string> program_beside(const std::string& name);

// Replaces this process by the program of this name in the same directory. `arguments` are the
// arguments after its name, ended by a null pointer. Returns only on failure. NotFound: there is no
// such program.
Status run_program_beside(const std::string& name, char** arguments);

// Runs the program to its end, with these descriptors as standard input and output, and returns its
// exit status. Io: it could not be started, or a signal ended it.
Result<int> wait_for_program_beside(const std::string& name, std::vector<std::string> arguments,
                                    int in, int out);

}  // namespace perennial::tool
