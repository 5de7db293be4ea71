#pragma once

#include "cmd/common/tool/subcommand.h"

// Subcommands for what watches a running server. `perennial check`, which looks at directories,
// too, is in offline/.
namespace perennial::tool {

Subcommand health_command();

}  // namespace perennial::tool
