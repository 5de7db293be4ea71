#pragma once

#include "engine/types/status.h"

namespace rocksdb {
class Status;
}  // namespace rocksdb

namespace perennial::store {

// Converts a status of RocksDB. This is the only place where that happens.
Status from_rocksdb(const rocksdb::Status& status);

// Returns whether the error says that a disk or a quota is full.
bool is_full(const rocksdb::Status& status);

}  // namespace perennial::store
