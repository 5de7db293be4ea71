#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct TopOptions {
  std::string server{default_server};
  double interval_s = 2;
  bool once = false;
};

// perennial top: what a server does, on a screen that keeps up with it.
Status top(const TopOptions& options);
Subcommand top_command(TopOptions& options);

}  // namespace perennial::tool
