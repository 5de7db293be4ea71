#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands for a cluster.
namespace perennial::tool {

Subcommand cluster_status_command();
Subcommand cluster_handover_command();
Subcommand cluster_resign_command();
Subcommand cluster_pause_command();
Subcommand cluster_resume_command();
Subcommand cluster_repair_command();
Subcommand cluster_init_command();
Subcommand cluster_recover_command();
Subcommand cluster_verify_command();

}  // namespace perennial::tool
