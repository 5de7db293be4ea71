#include <fmt/format.h>

#include "store/rocks_status.h"
#include "store/store_impl.h"

// Giving disk back: P8.
namespace perennial::store {
namespace {

// More of what is on disk has ended than lives; while room is scarce, any part that counts. The
// tombstones may still be in memory: a few of them can end large bodies.
bool is_worth_compacting(const TableCounts& tables, uint64_t rows, bool is_scarce) {
  return tables.puts + tables.tombstones > (is_scarce ? rows + rows / 16 : 2 * rows);
}

}  // namespace

Status Store::flush() {
  rocksdb::FlushOptions options;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  for (size_t place = 0; place < family_count; ++place) {
    families.push_back(impl_->db->family(static_cast<Family>(place)));
  }
  return impl_->settle((*impl_->db)->Flush(options, families), "flush");
}

Status Store::compact_tombstones(std::atomic<bool>& cancelled, uint64_t bytes_min) {
  const Database& db = *impl_->db;
  for (const Family family : job_families) {
    if (cancelled) return {};
    const Result<TableCounts> tables = db.count_tables(family);
    if (!tables.ok()) return tables.status();
    if (tables->bytes < bytes_min && !is_scarce()) continue;
    if (!is_worth_compacting(*tables, impl_->rows_of(family), is_scarce())) continue;
    rocksdb::CompactRangeOptions options;
    options.canceled = &cancelled;
    // It flushes the family first.
    const auto compacted = db->CompactRange(options, db.family(family), nullptr, nullptr);
    if (compacted.IsIncomplete()) return {};  // Cancelled, or held up by one of RocksDB's own.
    if (compacted.IsCompactionTooLarge()) continue;  // There is no room for it now.
    if (Status settled = impl_->settle(compacted, "compact"); !settled.ok()) return settled;
    impl_->inform("store.compact", fmt::format("family={}", name_of(family)));
  }
  return {};
}

}  // namespace perennial::store
