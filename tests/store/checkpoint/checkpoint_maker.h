#pragma once

#include <memory>
#include <string>

#include "store/checkpoint/checkpoint.h"
#include "store/store.h"
#include "tests/store/temp_dir.h"
#include "tests/store/world.h"

// A store with a random history in it, and checkpoints of it, for tests.
namespace perennial::store {

inline constexpr Nanos checkpoint_time = 1'795'264'805'123'456'789;

class CheckpointMaker {
 public:
  explicit CheckpointMaker(uint64_t seed, rocksdb::Env* env = nullptr);

  // So many batches more; with `flushed`, some of them are in tables.
  void write(int batches, bool flushed = true);
  // Cuts one now. `made` counts them, so that each has a name of its own.
  Result<CheckpointCut> cut();
  // Cuts one, and completes it.
  Result<CheckpointManifest> make();
  // Of the latest.
  std::string path() const { return checkpoints() + "/" + last_.name; }
  std::string checkpoints() const { return dir_.path() + "/checkpoints"; }
  CheckpointOwner owner() const { return {.database = store_->identity()}; }
  const std::string& dir() const { return dir_.path(); }
  std::string data_dir() const { return dir_.data_dir(); }
  const World& world() const { return world_; }
  Store& store() { return *store_; }
  void close();

 private:
  TempDir dir_;
  World world_;
  rocksdb::Env* const env_;
  std::unique_ptr<Store> store_;
  CheckpointCut last_;
  int made_ = 0;
};

// How many jobs of an image are in each state.
StateCounts count_states(const Image& image);

}  // namespace perennial::store
