#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands about a data directory that no server uses.
namespace perennial::tool {

Subcommand check_command();
Subcommand repair_command();
Subcommand migrate_command();
Subcommand import_binlog_command();

}  // namespace perennial::tool
