#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/types/options.h"
#include "tests/store/store_model.h"

// Data directories with a random history of batches, flushes of some families, compactions,
// checkpoints and kills.
namespace perennial::store {

// A directory that is never opened itself, so that it stays as the kill left it.
struct RandomStore {
  // An open of the store, after `index` batches.
  struct Opened {
    BatchIndex index = 0;
    uint64_t epoch = 0;
    JobId next_id = 0;
  };
  struct MadeCheckpoint {
    std::string path;
    BatchIndex index = 0;
  };

  std::string path;
  uint64_t seed = 0;
  BatchIndex index = 0;  // The last batch. All batches were acknowledged and synced.
  std::vector<Opened> opened = {};
  std::vector<MadeCheckpoint> checkpoints = {};

  // The state after a batch.
  StoreModel model_at(BatchIndex at) const;
};

// Makes a store at `path`, in child processes. The seed decides all but the timing of RocksDB's
// threads. At the end some flush may hang after it has begun a new log file.
RandomStore make_random_store(const std::string& path, uint64_t seed);

// The paths of the log files of a data directory, oldest first.
std::vector<std::string> logs_of(const std::string& data_dir);

// Makes a copy of a data directory for one attempt. Tables are hard links.
void copy_data_dir(const std::string& from, const std::string& to);

}  // namespace perennial::store
