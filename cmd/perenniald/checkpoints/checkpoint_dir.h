#pragma once

#include <optional>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"

// The directory in which the server makes its checkpoints.
namespace perennial::perenniald {

// `checkpoint_dir` as it is set, or its default.
std::string checkpoint_dir(const std::string& set, const std::string& data_dir);

// Makes it, for this user alone, where it is missing, and finds out whether checkpoints can be made
// there. NoSpace: the disk has no room for it now. Any other failure is one of the configuration:
// it cannot be made, read or written, or is on another file system than `data_dir`.
Status prepare_checkpoint_dir(const std::string& dir, const std::string& data_dir);

// Removes what a crash left half-made of the owner's, with a line in the log for each. REQUIRES:
// this process has the data directory's lock.
void remove_half_made(const std::string& dir, const store::CheckpointOwner& owner);

struct CheckpointSeen {
  std::string path;
  Nanos cut = 0;  // When.
};
// The owner's newest complete checkpoint there. None: there is none.
std::optional<CheckpointSeen> newest_checkpoint(const std::string& dir,
                                                const store::CheckpointOwner& owner);

}  // namespace perennial::perenniald
