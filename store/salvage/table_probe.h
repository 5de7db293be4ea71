#pragma once

#include <cstdint>
#include <string>

#include "store/salvage/family_merge.h"

// Included by store's own files only.
namespace perennial::store {

// What the MANIFEST says of a table.
struct TableBounds {
  std::string first_key;
  std::string last_key;
  uint64_t bytes = 0;
};

// Reads the table that `table.db` has alone, and notes which of its keys can be read and which
// cannot. It asks the table's index where the next block begins, so that exactly the damaged blocks
// are passed over. Closes the database if nothing can be read.
void probe_table(const TableBounds& bounds, OpenedTable& table);

}  // namespace perennial::store
