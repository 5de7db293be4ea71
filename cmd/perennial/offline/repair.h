#pragma once

#include <string>

#include <unistd.h>

#include "engine/types/status.h"

namespace perennial::tool {

struct RepairOptions {
  std::string data_dir = {};
  std::string checkpoint = {};  // checkpoint_for_salvage().
  bool yes = false;
  bool json = false;
};

// perennial repair: makes a new database from all that can be read of a damaged one. Prints to `fd`
// what will come of it, and asks before it changes anything.
Status repair(const RepairOptions& options, int fd = STDOUT_FILENO);

}  // namespace perennial::tool
