#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/salvage/block_scan.h"
#include "store/salvage/family_merge.h"
#include "store/salvage/table_bounds.h"

// The two ways to find out which keys of a damaged table can be read: through its index, or with a
// new index of the blocks that block_scan.h has found. Included by store's own files only.
namespace perennial::store {

// Reads the table that `table.db` has alone, and notes which of its keys can be read and which
// cannot. It asks the table's index where the next block begins, so that exactly the damaged blocks
// are passed over. Closes the database if nothing can be read.
void probe_table(const TableBounds& bounds, OpenedTable& table);

// Returns a footer, an index of the blocks in the runs and an empty metaindex. A table that has
// them from its byte `offset` on in place of its own footer can be read by RocksDB. It has no
// properties, of which RocksDB needs none here. RocksDB wiki, "Rocksdb BlockBasedTable Format".
std::string new_index(const std::vector<BlockRun>& runs, uint64_t offset);

// Where the index and the rest behind the data blocks of a table can be replaced: at its footer.
uint64_t place_of_footer(const TableBounds& bounds);

// Reads the table that `table.db` has alone with a new index of these runs, and notes which of its
// keys can be read and which cannot: those between two runs, and before and behind all of them.
// Closes the database if nothing can be read.
void probe_blocks(const TableBounds& bounds, const std::vector<BlockRun>& runs, OpenedTable& table);

}  // namespace perennial::store
