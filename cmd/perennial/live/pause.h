#pragma once

#include <cstdint>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct PauseOptions {
  std::string server{default_server};
  std::string tube;
  uint32_t seconds = 0;  // 0 ends a pause.
};

// perennial pause: no worker gets a job of the tube for a while.
Status pause(const PauseOptions& options);
Subcommand pause_command(PauseOptions& options);

}  // namespace perennial::tool
