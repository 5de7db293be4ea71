#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands about schedules.
namespace perennial::tool {

Subcommand schedule_list_command();
Subcommand schedule_show_command();
Subcommand schedule_set_command();
Subcommand schedule_apply_command();
Subcommand schedule_export_command();
Subcommand schedule_delete_command();
Subcommand schedule_pause_command();
Subcommand schedule_run_command();
Subcommand schedule_next_command();

}  // namespace perennial::tool
