#include <cstdint>

#include <rocksdb/table_properties.h>

#include "store/rocks/tuning.h"

namespace perennial::store {
namespace {

// The tombstones of a table with fewer rows do not justify a compaction.
constexpr uint64_t rows_min = 1024;

class TombstoneCollector : public rocksdb::TablePropertiesCollector {
 public:
  rocksdb::Status AddUserKey(const rocksdb::Slice& /*key*/, const rocksdb::Slice& /*value*/,
                             rocksdb::EntryType type, rocksdb::SequenceNumber /*sequence*/,
                             uint64_t /*file_bytes*/) override {
    ++rows_;
    if (type == rocksdb::kEntrySingleDelete || type == rocksdb::kEntryDelete) ++tombstones_;
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties* /*properties*/) override {
    return rocksdb::Status::OK();
  }
  rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  const char* Name() const override { return "perennial.tombstones"; }
  bool NeedCompact() const override { return rows_ >= rows_min && tombstones_ * 2 >= rows_; }

 private:
  uint64_t rows_ = 0;
  uint64_t tombstones_ = 0;
};

class TombstoneCollectorFactory : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      rocksdb::TablePropertiesCollectorFactory::Context /*context*/) override {
    return new TombstoneCollector();  // RocksDB owns it.
  }
  const char* Name() const override { return "perennial.tombstones"; }
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> make_tombstone_collector_factory() {
  return std::make_shared<TombstoneCollectorFactory>();
}

}  // namespace perennial::store
