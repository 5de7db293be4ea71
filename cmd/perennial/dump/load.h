#pragma once

#include <string>

#include <unistd.h>

#include "engine/types/status.h"

namespace perennial::tool {

struct LoadOptions {
  std::string data_dir = {};  // Must not exist, or be an empty directory.
  std::string from = "-";     // A dump; "-" is standard input.
  bool skip_damaged = false;
  bool json = false;
};

// perennial load: makes a data directory from a dump, with everything that the dump holds. Prints
// to `fd` what was loaded. Corruption: the dump is incomplete or invalid. InvalidArgument: the
// directory cannot be used. After an error nothing is changed.
Status load(const LoadOptions& options, int fd = STDOUT_FILENO);

}  // namespace perennial::tool
