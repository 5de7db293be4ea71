#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct TubesOptions {
  ServerAddress server = {};
  bool wide = false;  // All columns.
  bool json = false;
};

// perennial tubes: prints a line for each tube of a running server.
Status tubes(const TubesOptions& options);
Subcommand tubes_command(TubesOptions& options);

}  // namespace perennial::tool
