#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/file_tree.h"

// Copies a database that no process has open. Only files of store/ include this header.
namespace perennial::store {

// Returns whether a file of RocksDB is a table. RocksDB never changes a table after it is written.
bool is_table(std::string_view name);

// Copies the database in `from` into the empty directory `to`. Tables become hard links where that
// is possible, unless `copy_tables` is set. Other files are copied, because RocksDB appends to them
// or truncates them. Files for which `is_left_out` returns true are not copied, and the identity is
// not, because the copy is another database. The copy is durable on return, except for the name
// `to` itself.
Status copy_database(const FileTree& tree, const std::string& from, const std::string& to,
                     bool copy_tables,
                     const std::function<bool(const std::string& name)>& is_left_out = {});

}  // namespace perennial::store
