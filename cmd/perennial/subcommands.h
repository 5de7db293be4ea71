#pragma once

#include <vector>

#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// Every subcommand in the order of --help.
std::vector<Subcommand> all_commands();

std::vector<Group> all_groups();

}  // namespace perennial::tool
