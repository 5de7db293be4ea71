#pragma once

#include <cstdint>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct PauseOptions {
  ServerAddress server = {};
  std::string tube;
  uint32_t seconds = 0;  // 0 ends a pause.
};

// perennial pause: for a time no job of the tube can be reserved.
Status pause(const PauseOptions& options);
Subcommand pause_command(PauseOptions& options);

}  // namespace perennial::tool
