#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/store.h"
#include "tests/store/child.h"
#include "tests/store/store_model.h"
#include "tests/support/fault_fs.h"

// Runs of a store that end with a crash, and the check of what is left. Each runs in a child.
namespace perennial::store {

// Exit codes of the child that writes.
inline constexpr int exit_failed = 7;    // The store sent the fatal event.
inline constexpr int exit_unopened = 8;  // Store::open() refused.

// The state of the child that writes. The child sends it at each change.
struct Progress {
  bool is_open = false;
  bool fault_fired = false;  // Set only at a clean end.
  BatchIndex submitted = 0;
  BatchIndex reply_index = 0;
  BatchIndex durable = 0;
};

struct Life {
  std::string data_dir;
  Durability durability = Durability::Commit;
  int batches = 0;
  // Called before the store is opened. It plans how the store ends.
  std::function<void(support::FaultFs&)> plan;
};

// Opens a store, commits batches of the model one after the other, and closes the store.
ChildEnd live(const Life& life, const StoreModel& model);
// Returns the last report of the child.
Progress last_progress(const ChildEnd& end);

// What a start finds after such a life. A Reader that runs before the start must find the same.
struct Found {
  uint64_t epoch = 0;
  BatchIndex index = 0;
  JobId next_id = 0;
  std::string problem;  // Empty if the store equals the model after that batch.
};
Found examine(const std::string& data_dir, StoreModel model);

// Advances the model to its state after the batch with this index.
void advance(StoreModel& model, BatchIndex index);

// Compares what a start found with what was answered in the life before. `model` is in the state
// from before that life, and is then advanced to what was found.
std::string judge(const Life& life, const ChildEnd& end, const Found& found, StoreModel& model);

}  // namespace perennial::store
