#include <algorithm>
#include <optional>

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

// What a compaction of all of it may leave to be written, by the average of its rows. Some bodies
// are larger than others.
uint64_t output_bytes_max(const TableCounts& tables, uint64_t rows) {
  constexpr uint64_t margin = 4;
  return tables.puts == 0 ? 0 : std::min(tables.bytes, tables.bytes / tables.puts * rows * margin);
}

}  // namespace

// RocksDB reckons that a compaction writes as much as it reads, and holds it up where there is no
// room for that. So on a full disk whose jobs have all been deleted nothing would ever be given
// back: here as much is lent to a compaction as it will not write.
class Store::Impl::Loan {
 public:
  Loan(Impl& impl, const TableCounts& tables, uint64_t rows) : impl_(impl) {
    const uint64_t output = output_bytes_max(tables, rows);
    const uint64_t free_bytes = impl.room->free_bytes();
    if (output + compaction_leaves_bytes(impl.options) > free_bytes) return;
    impl.lent_bytes = tables.bytes;
    impl.db->limit_compactions(free_bytes + tables.bytes);
  }
  ~Loan() { impl_.lent_bytes = 0; }  // The limit follows at the next look at the room.
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

 private:
  Impl& impl_;
};

Status Store::flush() {
  return impl_->settle(impl_->db->flush(), "flush");
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
    std::optional<Impl::Loan> loan;
    if (is_scarce()) loan.emplace(*impl_, *tables, impl_->rows_of(family));
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
