#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/format/skipped_ids.h"

// Makes a data directory from a checkpoint.
namespace perennial::store {

struct Restore {
  std::string from;
  std::string to;  // A directory that does not exist.
  // How far the next id is raised, so that ids given out after the checkpoint are not used again.
  // 0: the directory is an exact copy.
  uint64_t skip_ids = skipped_ids;
  // All schedules are paused, so that the new directory puts no jobs beside the one that goes on.
  // Those of a node of a cluster stay as they are: its log goes on behind them.
  bool pause_schedules = false;
  bool copy = false;  // Copy tables even where they could be hard links.
  // Gets the number of bytes read so far.
  std::function<void(uint64_t)> progress = {};
  rocksdb::Env* env = nullptr;  // The environment whose file system is used, the machine's if null.
};

struct Restored {
  CheckpointManifest manifest;
  JobId next_id = 1;
  // It was made by a node of a cluster, whose log goes on behind it. Not known of an exact copy.
  bool is_of_cluster = false;
  // How many schedules are paused because that was asked for.
  uint64_t schedules_paused = 0;
};

// Verifies a checkpoint, links its tables and copies its other files to `to`.restoring, syncs, and
// renames that to `to`. First it removes what a crash left at `to`.restoring. The checkpoint never
// changes, also not by later changes to the new directory. Corruption: the checkpoint is damaged.
// InvalidArgument: `to` exists, or its parent does not. Unsupported: the format is newer than this
// program's, or older and skip_ids is not 0. NoSpace, Io: the disk is full or failed. After an
// error `to` does not exist.
Result<Restored> restore_checkpoint(const Restore& restore);

}  // namespace perennial::store
