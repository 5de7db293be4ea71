#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/perennial/subcommand.h"
#include "engine/types/status.h"

// Subcommands for checkpoints that are there. None asks a server for anything.
namespace perennial::tool {

// Where to look: in DIR/checkpoints of a data directory, or where the server was told to put them.
struct CheckpointPlace {
  std::string data_dir;
  std::string dir;
};

struct CheckpointListOptions {
  CheckpointPlace place;
  bool json = false;
};
struct CheckpointVerifyOptions {
  std::vector<std::string> paths;
  bool json = false;
};
struct CheckpointPruneOptions {
  CheckpointPlace place;
  uint64_t keep = 0;
  bool json = false;
};

// Each prints to standard output what it found or did.
Status checkpoint_list(const CheckpointListOptions& options);
Status checkpoint_verify(const CheckpointVerifyOptions& options);
Status checkpoint_prune(const CheckpointPruneOptions& options);

Subcommand checkpoint_list_command(CheckpointListOptions& options);
Subcommand checkpoint_verify_command(CheckpointVerifyOptions& options);
Subcommand checkpoint_prune_command(CheckpointPruneOptions& options);

}  // namespace perennial::tool
