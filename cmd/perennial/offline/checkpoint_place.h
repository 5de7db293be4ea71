#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

namespace perennial::tool {

// Where to look: in DIR/checkpoints of a data directory, or where the server was told to put them.
// With both, those of that data directory in that place.
struct CheckpointPlace {
  std::string data_dir;
  std::string dir;
};

// The directory that holds the checkpoints. InvalidArgument: neither is given.
Result<std::string> dir_of(const CheckpointPlace& place);

// --data-dir and --dir, before a command's other flags.
std::vector<Flag> place_flags(CheckpointPlace& place, std::vector<Flag> others);

}  // namespace perennial::tool
