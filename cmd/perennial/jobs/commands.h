#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands about the jobs of a running server.
namespace perennial::tool {

Subcommand put_command();
Subcommand peek_command();
Subcommand kick_command();
Subcommand bury_command();
Subcommand delete_command();
Subcommand list_command();
Subcommand flush_command();
Subcommand move_command();
Subcommand set_job_command();
Subcommand note_command();
Subcommand restore_job_command();
Subcommand restore_tube_command();

}  // namespace perennial::tool
