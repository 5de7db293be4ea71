#pragma once

#include <string>

#include <unistd.h>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct LoadOptions {
  std::string data_dir = {};  // Is not there yet, or is an empty directory.
  std::string from = "-";     // A dump; "-" is standard input.
  bool skip_damaged = false;
  bool json = false;
};

// perennial load: makes a data directory of a dump, with everything that the dump holds. Says on
// `fd` what was loaded. Corruption: the dump is not whole, or not one. InvalidArgument: the
// directory cannot be used. Whatever it refuses, it has changed nothing.
Status load(const LoadOptions& options, int fd = STDOUT_FILENO);
Subcommand load_command(LoadOptions& options);

}  // namespace perennial::tool
