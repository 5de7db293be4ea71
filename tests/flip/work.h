#pragma once

#include <cstdint>
#include <string>

#include "store/format/format.h"
#include "tests/flip/data_blocks.h"
#include "tests/store/store_model.h"
#include "tests/support/bad_sectors.h"

// A store works on while a block of one of its tables is damaged.
namespace perennial::store {

// Makes a directory whose tables have several blocks each: jobs in all states, tubes, settings,
// keys and so many ended jobs. With `is_worn` a store has worked in it, so that newer tables lie
// above those, and was killed.
void make_ground(const std::string& path, bool is_worn, uint64_t seed, JobId ended_jobs = 0);

enum class Harm : uint8_t {
  Flipped,     // A bit of the block is another one.
  Unreadable,  // The disk cannot read the block, until it is replaced.
};

struct WorkPlan {
  std::string ground;  // Stays as it is.
  std::string path;    // A copy of it, in which the store works.
  Family family = Family::Bodies;
  Harm harm = Harm::Flipped;
  bool is_at_rest = false;  // The block is damaged before the store is opened.
  bool is_fresh = false;    // The block is of a table that this store has written.
  bool closes = false;      // The store ends cleanly, and is not killed.
  bool has_small_tables = false;
  uint64_t block = 0;  // Of those of the family, modulo their number.
  uint64_t seed = 0;
};

DataBlock block_of(const WorkPlan& plan);
// Damages the block in the copy.
void harm(const WorkPlan& plan, const DataBlock& block, support::BadSectors& disk);

// How far the store has come.
struct Worked {
  bool is_open = false;
  Opening opening = {};
  BatchIndex submitted = 0;
  BatchIndex written = 0;    // With a sync.
  bool has_passed = false;   // The table is gone: a compaction has rewritten it.
  std::string failure = {};  // The fatal event, or the refusal of the start.
  std::string problem = {};  // What is never allowed.
};

// Works in a child process until a compaction has passed over the block, or the store fails, or has
// worked long enough.
Worked work(const WorkPlan& plan);

// The model after that batch. REQUIRES: it runs in a child process, because it reads the ground.
StoreModel model_after(const WorkPlan& plan, const Worked& worked, BatchIndex index);

}  // namespace perennial::store
