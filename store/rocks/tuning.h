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

// Makes a collector that requests the compaction of every table in which at least half of the
// entries are tombstones. RocksDB 7.8's own collector does not count those of SingleDelete: RocksDB
// pull request 13707.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> make_tombstone_collector_factory();

}  // namespace perennial::store
