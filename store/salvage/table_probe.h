#pragma once

#include "store/salvage/family_merge.h"
#include "store/salvage/table_bounds.h"

// Included by store's own files only.
namespace perennial::store {

// Reads the table that `table.db` has alone, and notes which of its keys can be read and which
// cannot. It asks the table's index where the next block begins, so that exactly the damaged blocks
// are passed over. Closes the database if nothing can be read.
void probe_table(const TableBounds& bounds, OpenedTable& table);

}  // namespace perennial::store
