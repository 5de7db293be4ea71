#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/offline/raw_store.h"

// Steps from one format on disk to the next: README.md. Each step is a file of its own,
// NNNN_verb_noun.cc, and steps.cc lists them.
namespace perennial::migrations {

// What a step works with: the database, and the progress that the step has saved for the case that
// it is interrupted.
class Rewrite {
 public:
  Rewrite(store::RawStore& store, uint32_t to, std::string progress)
      : store_(store), to_(to), progress_(std::move(progress)) {}

  // The progress that the last commit() saved; empty at the beginning.
  const std::string& progress() const { return progress_; }
  rocksdb::DB& db() const { return store_.db(); }
  // Returns a family by its name on disk. REQUIRES: the family exists.
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const;
  // Returns a new batch. Every batch of a step must begin with this, and should have at most a few
  // megabytes.
  rocksdb::WriteBatch new_batch() const;
  // Writes the batch and `progress` together, synced. NoSpace, Io: the write failed.
  Status commit(rocksdb::WriteBatch& batch, std::string progress);

 private:
  store::RawStore& store_;
  const uint32_t to_;
  std::string progress_;
};

struct Step {
  uint32_t from = 0;
  uint32_t to = 0;   // Always from + 1.
  std::string name;  // "0002_widen_rows", as its file is called.
  // Converts the rows, beginning after progress(). The families of both formats exist while it
  // runs, and those that only the old format has are dropped after it. A step whose new format has
  // more families must save a progress that is not empty. A step must give the same result wherever
  // an earlier run was interrupted: batches that were committed stay, and others have left no
  // trace.
  std::function<Status(Rewrite&)> run;
};

// All steps, in order.
const std::vector<Step>& all_steps();
Step add_keys_step();  // 0002_add_keys.cc

struct Migration {
  std::string data_dir = {};
  std::vector<Step> steps = all_steps();
  uint32_t to = store::format_base;
  // The families of each format.
  std::span<const store::FamilyNames> families = store::format_families;
  bool dry_run = false;
  Nanos now = 0;                    // The time in the checkpoint's name.
  std::string server_version = {};  // Written into the checkpoint's manifest.
  store::Events events = {};
  rocksdb::Env* env = nullptr;  // The filesystem; null for the machine's own.
};

struct Migrated {
  uint32_t from = 0;
  uint32_t to = 0;
  bool resumed = false;  // Whether an earlier run was interrupted.
  // The names of the steps that were run, or would be run by a dry run.
  std::vector<std::string> steps;
  // The path of the checkpoint. Empty if this run has taken none.
  std::string checkpoint;
};

// Migrates a data directory to the format `to`, by its steps in order, after a checkpoint of the
// directory as it was. A migration that was interrupted at any moment can be run again and
// continues. Locked: a server uses the directory. Unsupported: the directory is newer than `to`, or
// no steps lead there. Corruption, Io, NoSpace: the migration stopped, and can be run again when
// the cause is removed.
Result<Migrated> migrate(const Migration& migration);

}  // namespace perennial::migrations
