#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::tool {

// Returns the path of a program in the directory of the running program. The file need not exist.
Result<std::string> program_beside(const std::string& name);

// Replaces this process by the program of this name in the same directory. `arguments` are the
// arguments after its name, ended by a null pointer. Returns only on failure. NotFound: there is no
// such program.
Status run_program_beside(const std::string& name, char** arguments);

}  // namespace perennial::tool
