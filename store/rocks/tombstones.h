#pragma once

#include <memory>

namespace rocksdb {
class TablePropertiesCollectorFactory;
}  // namespace rocksdb

namespace perennial::store {

// Asks for the compaction of every table that is mostly tombstones. RocksDB 7.8's own collector
// does not count those of SingleDelete. RocksDB pull request 13707.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> make_tombstone_collector_factory();

}  // namespace perennial::store
