#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands that show what a running server does.
namespace perennial::tool {

Subcommand stats_command();
Subcommand top_command();
Subcommand clients_command();

}  // namespace perennial::tool
