#pragma once

#include <optional>
#include <string>

#include "cmd/perenniald/process/failure.h"

namespace perennial::perenniald {

// Changes the user and the groups of the process to those of `name`. Returns nothing when that
// worked.
std::optional<Failure> become_user(const std::string& name);

}  // namespace perennial::perenniald
