#include <array>
#include <optional>

#include <fmt/format.h>

#include "store/space/compaction_pieces.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// Compactions that return disk space to the file system: P8.
namespace perennial::store {
namespace {

// The families that tombstones are removed from. Meta is too small to be among them.
constexpr std::array<Family, 10> compacted_families = {
    Family::Ready, Family::Reserved, Family::Delayed, Family::Buried,     Family::Bodies,
    Family::Keys,  Family::Notes,    Family::Ended,   Family::EndedOrder, Family::Schedules};

// Whether more entries on disk are deleted than live. While space is scarce a sixteenth is enough.
// The limit is not on the tombstones in tables: those may still be in a memtable, and a few of them
// can delete large bodies.
bool is_worth_compacting(const TableCounts& tables, uint64_t rows, bool is_scarce) {
  return tables.puts + tables.tombstones > (is_scarce ? rows + rows / 16 : 2 * rows);
}

// After a compaction that lacked space the next one waits for a change: a sixteenth fewer rows, or
// a quarter more free space. Without a change it waits for this time.
constexpr uint64_t changed_rows_part = 16;
constexpr uint64_t changed_space_part = 4;
constexpr Nanos retry_interval = 60 * nanos_per_second;

// Whether a compaction ended because RocksDB held it up or because the guard stopped it.
bool lacked_space(const rocksdb::Status& done) {
  return done.IsCompactionTooLarge() || is_stopped_compaction(done);
}

// Whether a compaction may simply be tried again. It was cancelled, or RocksDB runs another one
// there. Or it has met damage: where that is not contained, the listener has reported a failure.
bool is_no_failure(const rocksdb::Status& done) {
  return done.IsIncomplete() || done.IsCorruption() || done.IsIOError() || lacked_space(done);
}

}  // namespace

// Lets compactions begin however much they read, as long as the reservation exists. RocksDB assumes
// that a compaction writes as much as it reads, and holds it up when less is free. With that rule
// alone a full disk whose jobs are all deleted would never get any space back. If a compaction does
// write too much, the guard stops it: compaction_guard.h.
class Store::Impl::SpaceReservation {
 public:
  SpaceReservation(Impl& impl, const TableCounts& tables) : impl_(impl) {
    impl.reserved_space_bytes = 2 * tables.bytes;
    impl.db->limit_compactions(impl.space->free_bytes(), impl.reserved_space_bytes);
  }
  // The next poll_disk_space() lowers RocksDB's limit again.
  ~SpaceReservation() { impl_.reserved_space_bytes = 0; }
  SpaceReservation(const SpaceReservation&) = delete;
  SpaceReservation& operator=(const SpaceReservation&) = delete;

 private:
  Impl& impl_;
};

bool Store::Impl::may_compact(Family family) const {
  const std::optional<HeldUp>& before = held_up[place_of(family)];
  if (!before) return true;
  return rows_of(family) < before->rows - before->rows / changed_rows_part ||
         space->free_bytes() > before->free_bytes + before->free_bytes / changed_space_part ||
         options.steady_clock() >= before->at + retry_interval;
}

// Compacts the whole family at once. While space is scarce it compacts only the key ranges that
// contain tombstones, one after the other, so that each frees its space before the next begins.
Status Store::Impl::compact(Family family, const TableCounts& tables,
                            std::atomic<bool>& cancelled) {
  if (!space->is_scarce()) {
    const auto done = compact_range(family, nullptr, cancelled);
    if (failure.failed()) return failure.refusal();
    if (is_no_failure(done)) return {};
    if (Status failed = fail_on_error(done, "compact"); !failed.ok()) return failed;
    inform("store.compact", fmt::format("family={}", name_of(family)));
    return {};
  }
  const SpaceReservation reservation(*this, tables);
  const uint64_t free_bytes = space->free_bytes();
  // The flush comes first because table_spans() sees only the tombstones that are in tables.
  if (Status flushed = fail_on_error(db->flush(family), "flush"); !flushed.ok()) return flushed;
  const Result<std::vector<TableSpan>> spans = db->table_spans(family);
  if (!spans.ok()) return spans.status();
  constexpr int held_up_max = 4;  // Each one may have written much for nothing.
  int held_up_count = 0;
  for (const CompactionPiece& piece : pieces_to_compact(*spans, options.compaction_bytes_max / 2)) {
    const auto done = compact_range(family, &piece, cancelled);
    if (done.ok()) continue;
    if (failure.failed()) return failure.refusal();
    if (!lacked_space(done)) return is_no_failure(done) ? Status() : fail_on_error(done, "compact");
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

rocksdb::Status Store::Impl::compact_range(Family family, const CompactionPiece* range,
                                           std::atomic<bool>& cancelled) {
  rocksdb::CompactRangeOptions how;
  how.canceled = &cancelled;
  how.allow_write_stall = true;  // Without this it may wait for ever, as a flush: database.cc.
  if (range == nullptr) return (*db)->CompactRange(how, db->family(family), nullptr, nullptr);
  const rocksdb::Slice begin = slice(range->first);
  const rocksdb::Slice end = slice(range->last);
  return (*db)->CompactRange(how, db->family(family), &begin, &end);
}

Status Store::flush() {
  return impl_->fail_on_error(impl_->db->flush(), "flush");
}

Status Store::flush(Family family) {
  return impl_->fail_on_error(impl_->db->flush(family), "flush");
}

Status Store::compact_tombstones(std::atomic<bool>& cancelled, uint64_t bytes_min) {
  const Database& db = *impl_->db;
  for (const Family family : compacted_families) {
    if (cancelled) return {};
    const Result<TableCounts> tables = db.count_tables(family);
    if (!tables.ok()) return tables.status();
    if (is_overwritten(family)) impl_->rows[place_of(family)] = tables->rows();
    if (tables->bytes < bytes_min && !is_scarce()) continue;
    if (!is_worth_compacting(*tables, impl_->rows_of(family), is_scarce())) continue;
    if (!impl_->may_compact(family)) continue;
    if (Status done = impl_->compact(family, *tables, cancelled); !done.ok()) return done;
  }
  return {};
}

}  // namespace perennial::store
