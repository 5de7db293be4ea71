#pragma once

#include <string>

#include "cmd/perennial/live/live.h"
#include "cmd/perennial/subcommand.h"

namespace perennial::tool {

struct DrainOptions {
  std::string server{default_server};
};

// perennial drain: a server on this machine takes no more jobs, until it is started again.
Status drain(const DrainOptions& options);
Subcommand drain_command(DrainOptions& options);

}  // namespace perennial::tool
