#include <optional>

#include <fmt/format.h>

#include "store/space/compaction_pieces.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// Giving disk back: P8.
namespace perennial::store {
namespace {

// More of what is on disk has ended than lives; while room is scarce, any part that counts. The
// tombstones may still be in memory: a few of them can end large bodies.
bool is_worth_compacting(const TableCounts& tables, uint64_t rows, bool is_scarce) {
  return tables.puts + tables.tombstones > (is_scarce ? rows + rows / 16 : 2 * rows);
}

// After one that found no room this much must have changed before the next: of the rows, or of the
// free room; or so much time have passed.
constexpr uint64_t changed_rows_part = 16;
constexpr uint64_t changed_room_part = 4;
constexpr Nanos retry_interval = 60 * nanos_per_second;

}  // namespace

// RocksDB reckons that a compaction writes as much as it reads, and holds it up where there is no
// room for that. So on a full disk whose jobs have all been deleted nothing would ever be given
// back: here a compaction is let begin whatever it reads. Should it write too much after all, the
// guard stops it: compaction_guard.h.
class Store::Impl::Loan {
 public:
  Loan(Impl& impl, const TableCounts& tables) : impl_(impl) {
    impl.lent_bytes = 2 * tables.bytes;
    impl.db->limit_compactions(impl.room->free_bytes(), impl.lent_bytes);
  }
  ~Loan() { impl_.lent_bytes = 0; }  // The limit follows at the next look at the room.
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

 private:
  Impl& impl_;
};

bool Store::Impl::may_compact(Family family) const {
  const std::optional<HeldUp>& before = held_up[place_of(family)];
  if (!before) return true;
  return rows_of(family) < before->rows - before->rows / changed_rows_part ||
         room->free_bytes() > before->free_bytes + before->free_bytes / changed_room_part ||
         options.steady_clock() >= before->at + retry_interval;
}

// The whole family at once; or, while room is scarce, only where there are tombstones, and in
// pieces of which each gives back its room before the next.
Status Store::Impl::compact(Family family, const TableCounts& tables,
                            std::atomic<bool>& cancelled) {
  if (!room->is_scarce()) {
    const auto done = compact_range(family, nullptr, cancelled);
    const bool lacks_room = done.IsCompactionTooLarge() || is_stopped_compaction(done);
    if (done.IsIncomplete() || lacks_room || failure.failed()) return {};
    if (Status settled = settle(done, "compact"); !settled.ok()) return settled;
    inform("store.compact", fmt::format("family={}", name_of(family)));
    return {};
  }
  const Loan loan(*this, tables);
  const uint64_t free_bytes = room->free_bytes();
  // The tombstones may still be in memory.
  if (Status flushed = settle(db->flush(family), "flush"); !flushed.ok()) return flushed;
  const Result<std::vector<TableSpan>> spans = db->table_spans(family);
  if (!spans.ok()) return spans.status();
  constexpr int held_up_max = 4;  // Each has written much in vain.
  int held_up_count = 0;
  for (const KeyRange& piece : pieces_to_compact(*spans, options.compaction_bytes_max / 2)) {
    const auto done = compact_range(family, &piece, cancelled);
    if (done.IsIncomplete()) return {};  // Cancelled, or held up by one of RocksDB's own.
    if (done.ok()) continue;
    const bool lacks_room = done.IsCompactionTooLarge() || is_stopped_compaction(done);
    if (!lacks_room || failure.failed()) return settle(done, "compact");
    if (++held_up_count == held_up_max) break;
  }
  held_up[place_of(family)].reset();
  if (held_up_count > 0) {
    held_up[place_of(family)] = {
        .rows = rows_of(family), .free_bytes = free_bytes, .at = options.steady_clock()};
  }
  inform("store.compact",
         fmt::format("family={}{}", name_of(family), held_up_count > 0 ? " held_up=no-room" : ""));
  return {};
}

rocksdb::Status Store::Impl::compact_range(Family family, const KeyRange* range,
                                           std::atomic<bool>& cancelled) {
  rocksdb::CompactRangeOptions how;
  how.canceled = &cancelled;
  how.allow_write_stall = true;  // Else it may wait for ever, as a flush: database.cc.
  if (range == nullptr) return (*db)->CompactRange(how, db->family(family), nullptr, nullptr);
  const rocksdb::Slice begin = slice(range->first);
  const rocksdb::Slice end = slice(range->last);
  return (*db)->CompactRange(how, db->family(family), &begin, &end);
}

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
    if (!impl_->may_compact(family)) continue;
    if (Status done = impl_->compact(family, *tables, cancelled); !done.ok()) return done;
  }
  return {};
}

}  // namespace perennial::store
