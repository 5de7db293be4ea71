#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::tool {

// Becomes the program of this name in the directory of the one that runs. `arguments` are those
// after its name, and a null pointer. Returns only when it cannot. NotFound: it is not there.
Status run_program_beside(const std::string& name, char** arguments);

}  // namespace perennial::tool
