#pragma once

#include <string>

#include "cmd/perennial/command.h"
#include "cmd/perennial/live.h"

namespace perennial::tool {

struct DrainOptions {
  std::string server{default_server};
};

// perennial drain: a server on this machine takes no more jobs, until it is started again.
Status drain(const DrainOptions& options);
Command drain_command(DrainOptions& options);

}  // namespace perennial::tool
