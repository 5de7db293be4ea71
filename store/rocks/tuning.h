#pragma once

#include <memory>

#include <rocksdb/options.h>

#include "store/format/format.h"
#include "store/types/options.h"

// How RocksDB is set up: store/README.md gives the reasons.
// Included by store's own files only.
namespace perennial::store {

rocksdb::DBOptions db_options(const Options& options, std::shared_ptr<rocksdb::Logger> logger,
                              std::shared_ptr<rocksdb::EventListener> listener);

rocksdb::ColumnFamilyOptions family_options(Family family, const Options& options);

}  // namespace perennial::store
