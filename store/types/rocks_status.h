#pragma once

#include "engine/types/status.h"

namespace rocksdb {
class Status;
}  // namespace rocksdb

namespace perennial::store {

// The one place where what RocksDB says becomes a Status.
Status from_rocksdb(const rocksdb::Status& status);

// Whether a disk or a quota is full.
bool is_full(const rocksdb::Status& status);

}  // namespace perennial::store
