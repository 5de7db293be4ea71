#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands about who may use a server.
namespace perennial::tool {

Subcommand token_new_command();
Subcommand users_check_command();

}  // namespace perennial::tool
