#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands that write and read dumps.
namespace perennial::tool {

Subcommand dump_command();
Subcommand load_command();

}  // namespace perennial::tool
