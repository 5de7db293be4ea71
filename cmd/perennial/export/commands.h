#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands that move jobs to another server.
namespace perennial::tool {

Subcommand copy_command();
Subcommand export_beanstalkd_command();

}  // namespace perennial::tool
