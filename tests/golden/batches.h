#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/batch/batch.h"

// The batches whose bytes are in tests/golden/batch_N, one file each, under its name.
namespace perennial::golden {

struct NamedBatch {
  uint8_t format;
  std::string_view name;
  store::Batch batch;
  std::deque<std::string> bodies;  // The bodies to which the batch refers.
};

// Of format 1 a batch with every kind of effect, an empty batch, and a batch with a large body. Of
// format 2 a batch with every kind of effect, and a batch with one key. Of format 4 a batch with
// every kind of effect, and a batch without notes whose job counts some. Of format 5 a batch
// with every kind of effect, and a batch with an ended job that goes. Of format 6 a batch with
// every kind of effect, and a batch with one schedule.
std::vector<NamedBatch> all_batches();

// Each of the 256 bytes.
std::string all_bytes();
// This many bytes that are hard to compress.
std::string random_bytes(size_t count);

}  // namespace perennial::golden
