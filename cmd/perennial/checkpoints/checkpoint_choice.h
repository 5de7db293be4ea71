#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"

// Which checkpoint can help a damaged data directory.
namespace perennial::tool {

struct CheckpointChoice {
  struct Chosen {
    std::string path;
    store::CheckpointManifest manifest;
    bool is_of_directory = false;  // It was made of this database, and not before a restore.
  };

  std::optional<Chosen> chosen = {};      // The newest one that is whole.
  std::vector<std::string> damaged = {};  // The names of newer ones, which share the damage.
};

// Verifies the checkpoints in DATA_DIR/checkpoints, the newest first, until one is whole. That
// reads as many bytes as it has. Those of another database, and those from before a restore, are
// left out, unless the directory has lost its identity, so that this cannot be told.
CheckpointChoice choose_checkpoint(const std::string& data_dir);

// What --checkpoint means: a path, "none", or empty for the choice above. Returns the path of a
// checkpoint whose rows may stand in for rows of the directory that cannot be read, or an empty
// text. A directory that has lost its identity takes a checkpoint that is named, with a warning on
// the standard error, unless its tables say that it is of another database. InvalidArgument: the
// path names a checkpoint of another database. Corruption: it is damaged.
Result<std::string> checkpoint_for_salvage(const std::string& data_dir, const std::string& asked);

}  // namespace perennial::tool
