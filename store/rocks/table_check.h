#pragma once

#include <rocksdb/db.h>

#include "engine/types/status.h"

// Included by store's own files only.
namespace perennial::store {

// Opens each table that a database uses, and closes it again. With a bound on open files RocksDB
// looks at a few of them only, and would notice damage of the others one day. Corruption: one
// cannot be opened. REQUIRES: no file is deleted meanwhile.
Status check_tables(rocksdb::DB& db);

}  // namespace perennial::store
