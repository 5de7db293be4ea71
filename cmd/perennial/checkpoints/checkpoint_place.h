#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint_manifest.h"

// What the subcommands about checkpoints share.
namespace perennial::tool {

// Where checkpoints are: in DIR/checkpoints of a data directory, or in the directory that the
// server was given. With both, those of that data directory in that place.
struct CheckpointPlace {
  std::string data_dir;
  std::string dir;
};

// Returns the directory of the checkpoints. InvalidArgument: neither is given.
Result<std::string> dir_of(const CheckpointPlace& place);

// Returns --data-dir and --dir, followed by a command's other flags.
std::vector<Flag> place_flags(CheckpointPlace& place, std::vector<Flag> others);

// Adds the content of a checkpoint: "jobs", one count for each state, and "tubes".
void add_content(nlohmann::ordered_json& out, const store::CheckpointManifest& manifest);

}  // namespace perennial::tool
