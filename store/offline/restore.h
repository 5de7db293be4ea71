#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/format/skipped_ids.h"

// A data directory made from a checkpoint.
namespace perennial::store {

struct Restore {
  std::string from;
  std::string to;  // A directory that is not there.
  // How far the next id is moved, so that what was given out after the checkpoint is not given out
  // again. 0 leaves everything as it is in the checkpoint.
  uint64_t skip_ids = skipped_ids;
  bool copy = false;  // Copy tables even where they could be hard links.
  // Told how many bytes have been read so far.
  std::function<void(uint64_t)> progress = {};
  rocksdb::Env* env = nullptr;  // The file system, the machine's if null.
};

struct Restored {
  CheckpointManifest manifest;
  JobId next_id = 1;
};

// Verifies a checkpoint, links its tables and copies its other files under a temporary name
// (`to`.restoring; what a crash left there is removed), syncs, and renames. The checkpoint is not
// changed, also not by what is done with the new directory later. Corruption: the checkpoint is not
// what was made. InvalidArgument: `to` is there already, or has no parent. Unsupported: its format
// is not this program's. NoSpace, Io: the disk. Each time nothing of `to` is left.
Result<Restored> restore_checkpoint(const Restore& restore);

}  // namespace perennial::store
