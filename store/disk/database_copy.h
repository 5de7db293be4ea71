#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/file_tree.h"

// A copy of a database that nobody has open. Included by store's own files only.
namespace perennial::store {

// Whether a file of RocksDB's is a table, which is never changed once it is written.
bool is_table(std::string_view name);

// Makes `to`, an empty directory, a copy of the database in `from`: tables are hard links where
// that is possible and wanted; everything else is copied, because RocksDB appends to it or cuts it.
// Without the tables that `is_rubbish` knows, which a crash has left, and without the identity,
// because the copy is another database. Durable afterwards, `to`'s own name aside.
Status copy_database(const FileTree& tree, const std::string& from, const std::string& to,
                     bool copy_tables,
                     const std::function<bool(const std::string& table)>& is_rubbish = {});

}  // namespace perennial::store
