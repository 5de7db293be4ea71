#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct UndrainOptions {
  ServerAddress server = {};
};

// perennial undrain: lets a server take jobs again.
Status undrain(const UndrainOptions& options);
Subcommand undrain_command(UndrainOptions& options);

}  // namespace perennial::tool
