#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct UsersCheckOptions {
  std::string config = "/etc/perennial/perennial.yaml";
};

// perennial users check: who gets in where, as whom, and may do what. The server knows that, so
// perenniald prints it.
Status users_check(const UsersCheckOptions& options);
Subcommand users_check_command(UsersCheckOptions& options);

}  // namespace perennial::tool
