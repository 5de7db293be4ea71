#pragma once

#include <cstdint>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/checkpoints/checkpoint_place.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct CheckpointPruneOptions {
  CheckpointPlace place;
  uint64_t keep = 0;
  bool json = false;
};

// perennial checkpoint prune: removes old and partial checkpoints of one data directory, or of each
// database in a directory separately. Prints what it removed.
Status checkpoint_prune(const CheckpointPruneOptions& options);
Subcommand checkpoint_prune_command(CheckpointPruneOptions& options);

}  // namespace perennial::tool
