#pragma once

#include <optional>
#include <string>

#include "cmd/perenniald/process/failure.h"

namespace perennial::perenniald {

// Gives up the rights of the process for those of this user, with that user's groups. Nothing is
// returned when that worked.
std::optional<Failure> become_user(const std::string& name);

}  // namespace perennial::perenniald
