#pragma once

#include <span>

#include <rocksdb/db.h>

#include "engine/types/status.h"
#include "store/format/format.h"

// Included by store's own files only.
namespace perennial::store {

// Opens each table that a database uses, and closes it again. With a bound on open files RocksDB
// opens only a few tables at a start, and finds damage of the others when it reads them. Of the
// families whose rows nobody can count, `meta` and `keys`, every block is read, too. Corruption: a
// table cannot be opened or read. REQUIRES: no file is deleted meanwhile.
Status open_each_table(rocksdb::DB& db);

// Reads every block of the tables of these families. Corruption: one is damaged. REQUIRES: no file
// is deleted meanwhile.
Status read_each_block(rocksdb::DB& db, std::span<const Family> families);

}  // namespace perennial::store
