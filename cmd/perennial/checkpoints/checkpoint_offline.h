#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/checkpoints/checkpoint_place.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint_manifest.h"

// Subcommands that read checkpoints. None of them connects to a server.
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

Subcommand checkpoint_list_command(CheckpointListOptions& options);
Subcommand checkpoint_verify_command(CheckpointVerifyOptions& options);

}  // namespace perennial::tool
