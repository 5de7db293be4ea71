#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands about schedules.
namespace perennial::tool {

Subcommand schedule_next_command();

}  // namespace perennial::tool
