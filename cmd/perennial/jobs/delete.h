#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct DeleteOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
};

// perennial delete: deletes jobs by their ids.
Status delete_jobs(const DeleteOptions& options);
Subcommand delete_command(DeleteOptions& options);

}  // namespace perennial::tool
