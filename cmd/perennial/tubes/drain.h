#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct DrainOptions {
  ServerAddress server = {};
};

// perennial drain: a server on this machine refuses puts until it is started again.
Status drain(const DrainOptions& options);
Subcommand drain_command(DrainOptions& options);

}  // namespace perennial::tool
