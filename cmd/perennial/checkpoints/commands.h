#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands about checkpoints.
namespace perennial::tool {

Subcommand checkpoint_create_command();
Subcommand checkpoint_list_command();
Subcommand checkpoint_verify_command();
Subcommand checkpoint_prune_command();
Subcommand restore_command();

}  // namespace perennial::tool
