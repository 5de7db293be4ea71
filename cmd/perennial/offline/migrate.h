#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct MigrateOptions {
  std::string data_dir;
  bool dry_run = false;
  bool json = false;
};

// perennial migrate: migrates a data directory to the format of this program. Prints to standard
// output what it did.
Status migrate(const MigrateOptions& options);
Subcommand migrate_command(MigrateOptions& options);

}  // namespace perennial::tool
