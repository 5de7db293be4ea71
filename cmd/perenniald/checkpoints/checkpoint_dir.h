#pragma once

#include <optional>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/types/group_access.h"

// The directory in which the server makes its checkpoints.
namespace perennial::perenniald {

// Returns `set`, or the default directory in `data_dir` if that is empty.
std::string checkpoint_dir(const std::string& set, const std::string& data_dir);

// Creates the directory if it is missing, for this user and, as `group_access` says, its group.
// Tests whether checkpoints can be made there. NoSpace: the disk has no free space for it now. Any
// other failure is one of the configuration: the directory cannot be created, read or written, or
// is on another filesystem than `data_dir`.
Status prepare_checkpoint_dir(const std::string& dir, const std::string& data_dir,
                              store::GroupAccess group_access);

// Removes the owner's partial checkpoints, which a crash has left, and logs a line for each.
// REQUIRES: this process holds the lock of the data directory.
void remove_partial(const std::string& dir, const store::CheckpointOwner& owner);

struct CheckpointSeen {
  std::string path;
  Nanos created = 0;  // When.
};
// Returns the owner's newest complete checkpoint in `dir`. None: there is none.
std::optional<CheckpointSeen> newest_checkpoint(const std::string& dir,
                                                const store::CheckpointOwner& owner);

}  // namespace perennial::perenniald
