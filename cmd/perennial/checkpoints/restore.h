#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/types/status.h"

namespace perennial::tool {

struct RestoreOptions {
  std::string from;  // A checkpoint.
  std::string to;    // A data directory that does not exist yet.
  bool exact = false;
  // How far the next id is moved on. None: as the age of the checkpoint asks for.
  std::optional<uint64_t> id_gap = {};
  bool copy = false;
  bool json = false;
};

// perennial restore: makes a new data directory from a checkpoint. Prints its content to standard
// output.
Status restore(const RestoreOptions& options);

}  // namespace perennial::tool
