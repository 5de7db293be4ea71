#pragma once

#include <cstdint>
#include <string>

#include <unistd.h>

#include "engine/types/status.h"

namespace perennial::tool {

struct CheckOptions {
  std::string data_dir = {};  // Or a checkpoint.
  bool deep = false;
  uint64_t limit = 1000;  // The maximum number of faults to show.
  bool json = false;
};

// perennial check: finds every fault in a data directory that no server uses, or in a checkpoint.
// Prints the faults to `fd` and changes nothing. Corruption: there are faults.
Status check(const CheckOptions& options, int fd = STDOUT_FILENO);

}  // namespace perennial::tool
