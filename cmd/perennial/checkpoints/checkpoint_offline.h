#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cmd/perennial/checkpoints/checkpoint_place.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint_manifest.h"

// Subcommands that list, verify and remove checkpoints. None of them connects to a server.
namespace perennial::tool {

struct CheckpointListOptions {
  CheckpointPlace place;
  bool json = false;
};
struct CheckpointVerifyOptions {
  std::vector<std::string> paths;
  bool json = false;
};

// Adds the content of a checkpoint: "jobs", one count for each state, and "tubes".
void add_content(nlohmann::ordered_json& out, const store::CheckpointManifest& manifest);

// Each prints its result to standard output.
Status checkpoint_list(const CheckpointListOptions& options);
Status checkpoint_verify(const CheckpointVerifyOptions& options);

struct CheckpointPruneOptions {
  CheckpointPlace place;
  uint64_t keep = 0;
  bool json = false;
};

// perennial checkpoint prune: removes old and partial checkpoints of one data directory, or of each
// database in a directory separately. Prints what it removed.
Status checkpoint_prune(const CheckpointPruneOptions& options);

}  // namespace perennial::tool
