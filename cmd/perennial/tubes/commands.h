#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands about the tubes of a running server, and about whether it takes jobs.
namespace perennial::tool {

Subcommand tubes_command();
Subcommand pause_command();
Subcommand set_tube_command();
Subcommand drain_command();
Subcommand undrain_command();

}  // namespace perennial::tool
