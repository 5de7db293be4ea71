#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/salvage/block_scan.h"

// Included by store's own files only.
namespace perennial::store {

// Returns a footer, an index of the blocks in the runs and an empty metaindex. A table that has
// them from its byte `offset` on in place of its own footer can be read by RocksDB. It has no
// properties, of which RocksDB needs none here. RocksDB wiki, "Rocksdb BlockBasedTable Format".
std::string new_index(const std::vector<BlockRun>& runs, uint64_t offset);

}  // namespace perennial::store
