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

// From one format on disk to the next: README.md. Each step is a file of its own,
// NNNN_verb_noun.cc, and steps.cc lists them.
namespace perennial::migrations {

// A step's way into the database, and its memory: where it stopped, should it have been cut short.
class Rewrite {
 public:
  Rewrite(store::RawStore& store, uint32_t to, std::string progress)
      : store_(store), to_(to), progress_(std::move(progress)) {}

  // What the last commit() said; empty at the beginning.
  const std::string& progress() const { return progress_; }
  rocksdb::DB& db() const { return store_.db(); }
  // By its name on disk. REQUIRES: there is one.
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const;
  // Every batch begins with what this gives, and is at most a few megabytes.
  rocksdb::WriteBatch new_batch() const;
  // Makes the batch durable, and with it that the step has come so far.
  Status commit(rocksdb::WriteBatch& batch, std::string progress);

 private:
  store::RawStore& store_;
  const uint32_t to_;
  std::string progress_;
};

struct Step {
  uint32_t from = 0;
  uint32_t to = 0;   // One more.
  std::string name;  // "0002_widen_rows": its file's.
  // Does it from progress() on. The families of both formats are there; those of the old one alone
  // are dropped when it is done. Where the new one has more, no progress is empty. It must not
  // matter where it was stopped before: what was committed stays, and what was not has left no
  // trace.
  std::function<Status(Rewrite&)> run;
};

// Every step there is, in order.
const std::vector<Step>& all_steps();

struct Migration {
  std::string data_dir = {};
  std::vector<Step> steps = all_steps();
  uint32_t to = store::format_version;
  std::span<const store::FamilyNames> families = store::format_families;  // Of each format.
  bool dry_run = false;
  Nanos now = 0;                    // For the checkpoint's name.
  std::string server_version = {};  // For its manifest.
  store::Events events = {};
  rocksdb::Env* env = nullptr;  // The file system, the machine's if null.
};

struct Migrated {
  uint32_t from = 0;
  uint32_t to = 0;
  bool resumed = false;            // It had been cut short before.
  std::vector<std::string> steps;  // Those that were run, or would be.
  std::string checkpoint;          // Its path; empty if none was taken now.
};

// Takes a data directory to the format `to`, by its steps in order, after a checkpoint of it as it
// was. Where it is cut short, at any moment, it can be run again and goes on. Locked: a server
// runs. Unsupported: the directory is newer than `to`, or no steps lead there. Corruption, Io,
// NoSpace: it stopped, and can be run again once that is mended.
Result<Migrated> migrate(const Migration& migration);

}  // namespace perennial::migrations
