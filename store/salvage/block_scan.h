#pragma once

#include <cstdint>
#include <vector>

#include <rocksdb/file_system.h>

#include "store/salvage/data_block.h"
#include "store/salvage/table_bounds.h"

// Finds the data blocks of a table without its index. Included by store's own files only.
//
// Data blocks lie one behind the other from the beginning of the file. Where no block can be read,
// the next place is looked for, byte by byte, from which one can. What begins there could also be
// the copy of a block in a body that lies in a damaged block. So blocks count only in the order of
// their keys, and where runs of blocks contradict each other, those that have the most bytes
// together. A copy that fits between its neighbours cannot be told from a block of the table.
//
// Every byte of a block is followed and hashed once, and unpacked if it is packed: 64 MiB take half
// a second. Looking for a place costs about 50 ns a byte, so that a file in which nothing can be
// read takes four seconds. Bytes can be made so that many places look like the beginning of a long
// block. Therefore the work is bounded by scan_work_max times the file's size; where that ends, so
// does what can be read.
namespace perennial::store {

inline constexpr uint64_t scan_work_max = 16;

// Blocks that follow one another in the file.
using BlockRun = std::vector<DataBlock>;

// Returns the runs in the order of the file, which is that of their keys. Its memory is a few
// chunks of the file or the largest block, and the keys of the blocks.
std::vector<BlockRun> scan_blocks(rocksdb::FSRandomAccessFile& file, uint64_t file_bytes,
                                  const TableBounds& bounds);

}  // namespace perennial::store
