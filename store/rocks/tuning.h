#pragma once

#include <memory>

#include <rocksdb/options.h>

#include "store/format/format.h"
#include "store/types/options.h"

// The options of RocksDB. README.md and store/space/README.md give the reasons.
// Included by store's own files only.
namespace perennial::store {

rocksdb::DBOptions db_options(const Options& options, std::shared_ptr<rocksdb::Logger> logger,
                              std::shared_ptr<rocksdb::EventListener> listener);

rocksdb::ColumnFamilyOptions family_options(Family family, const Options& options);

}  // namespace perennial::store
