#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct TopOptions {
  ServerAddress server = {};
  double interval_s = 2;
  bool once = false;
};

// perennial top: shows the activity of a server on a screen that is updated.
Status top(const TopOptions& options);
Subcommand top_command(TopOptions& options);

}  // namespace perennial::tool
