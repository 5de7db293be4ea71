#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/store.h"
#include "tests/store/child.h"
#include "tests/store/world.h"
#include "tests/support/fault_fs.h"

// Lives of a store that end badly, and the check of what is left. Each runs in a child.
namespace perennial::store {

// How the child that writes ends, besides by a signal.
inline constexpr int exit_failed = 7;    // The fatal event came.
inline constexpr int exit_unopened = 8;  // Store::open() refused.

// What the writing child knows, sent whenever it changes.
struct Progress {
  bool is_open = false;
  bool fault_fired = false;  // Told at a clean end only.
  BatchIndex submitted = 0;
  BatchIndex answerable = 0;
  BatchIndex durable = 0;
};

struct Life {
  std::string data_dir;
  Durability durability = Durability::Commit;
  int batches = 0;
  // Called before the store is opened, to plan how it is to end.
  std::function<void(support::FaultFs&)> plan;
};

// Opens, commits batches of the world one after the other, and closes, if it gets that far.
ChildEnd live(const Life& life, const World& world);
// What the child said last.
Progress last_progress(const ChildEnd& end);

// What a start finds after such a life. Before it, a Reader must see the same, and change nothing.
struct Found {
  uint64_t epoch = 0;
  BatchIndex index = 0;
  JobId next_id = 0;
  std::string problem;  // Empty if all is as the world was after that batch.
};
Found examine(const std::string& data_dir, World world);

// Takes the world to where it was after a batch.
void advance(World& world, BatchIndex index);

// Compares what was found with what the life was told. `world` is as it was before that life, and
// is as it was found afterwards.
std::string judge(const Life& life, const ChildEnd& end, const Found& found, World& world);

}  // namespace perennial::store
