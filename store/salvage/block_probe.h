#pragma once

#include <cstdint>
#include <vector>

#include "store/salvage/block_scan.h"
#include "store/salvage/family_merge.h"
#include "store/salvage/table_bounds.h"

// Included by store's own files only.
namespace perennial::store {

// Where the index and the rest behind the data blocks of a table can be replaced: at its footer.
uint64_t place_of_footer(const TableBounds& bounds);

// Reads the table that `table.db` has alone with a new index of these runs, and notes which of its
// keys can be read and which cannot: those between two runs, and before and behind all of them.
// Closes the database if nothing can be read.
void probe_blocks(const TableBounds& bounds, const std::vector<BlockRun>& runs, OpenedTable& table);

}  // namespace perennial::store
