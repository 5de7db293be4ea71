#pragma once

#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct SetTubeOptions {
  ServerAddress server = {};
  std::string tube;
  // Options of the protocol, as they were given.
  std::optional<std::string> tries = {};
  std::optional<std::string> backoff = {};
  std::optional<std::string> dead = {};
  std::optional<std::string> expire = {};
  std::optional<std::string> reserved = {};
  std::optional<std::string> rate = {};
  std::optional<std::string> drain = {};
};

// perennial set tube: changes the settings of a tube.
Status set_tube_settings(const SetTubeOptions& options);
Subcommand set_tube_command(SetTubeOptions& options);

}  // namespace perennial::tool
