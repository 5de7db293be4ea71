#pragma once

#include <memory>

namespace rocksdb {
class TablePropertiesCollectorFactory;
}  // namespace rocksdb

namespace perennial::store {

// Makes a collector that requests the compaction of every table in which at least half of the
// entries are tombstones. RocksDB 7.8's own collector does not count those of SingleDelete: RocksDB
// pull request 13707.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> make_tombstone_collector_factory();

}  // namespace perennial::store
