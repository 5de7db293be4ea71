#pragma once

#include <memory>
#include <string>

#include "store/checkpoint/checkpoint.h"
#include "store/store.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"

// A store with a random history, and checkpoints of it, for tests.
namespace perennial::store {

inline constexpr Nanos checkpoint_time = 1'795'264'805'123'456'789;

class CheckpointMaker {
 public:
  explicit CheckpointMaker(uint64_t seed, rocksdb::Env* env = nullptr);

  // Writes more batches with about so many transitions. With `flushed`, a flush puts some of them
  // into tables.
  void write(int batches, bool flushed = true, int transitions = 20);
  // Creates a partial checkpoint. made_ gives each checkpoint its own name.
  Result<CheckpointPlan> create();
  // Creates a checkpoint and completes it.
  Result<CheckpointManifest> make();
  // The path of the latest checkpoint after its completion.
  std::string path() const { return checkpoints() + "/" + last_.name; }
  std::string checkpoints() const { return dir_.path() + "/checkpoints"; }
  CheckpointOwner owner() const { return {.database = store_->identity()}; }
  const std::string& dir() const { return dir_.path(); }
  std::string data_dir() const { return dir_.data_dir(); }
  const StoreModel& model() const { return model_; }
  Store& store() { return *store_; }
  void close();

 private:
  TempDir dir_;
  StoreModel model_;
  rocksdb::Env* const env_;
  std::unique_ptr<Store> store_;
  CheckpointPlan last_;
  int made_ = 0;
};

// Returns how many jobs of an image are in each state.
StateCounts count_states(const Image& image);

}  // namespace perennial::store
