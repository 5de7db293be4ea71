#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/batch/batch.h"

// The batches whose bytes tests/golden/batch_N holds, a file each, under its name.
namespace perennial::golden {

struct NamedBatch {
  std::string_view name;
  store::Batch batch;
  std::deque<std::string> bodies;  // The batch's.
};

// One with every kind of effect, one of none, and one with a large body.
std::vector<NamedBatch> all_batches();

// Every byte there is.
std::string all_bytes();
// So many bytes that are hard to compress.
std::string random_bytes(size_t count);

}  // namespace perennial::golden
