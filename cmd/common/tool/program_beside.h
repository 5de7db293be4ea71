#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::tool {

// The path of the program of this name in the directory of the one that runs, whether it is there
// or not.
Result<std::string> program_beside(const std::string& name);

// Becomes the program of this name that lies there. `arguments` are those
// after its name, and a null pointer. Returns only when it cannot. NotFound: it is not there.
Status run_program_beside(const std::string& name, char** arguments);

}  // namespace perennial::tool
