#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/write_batch.h>

#include "engine/types/check.h"
#include "store/compaction_guard.h"
#include "store/compaction_pieces.h"
#include "store/data_dir.h"
#include "store/debt.h"
#include "store/durable_mark.h"
#include "store/file_system.h"
#include "store/format.h"
#include "store/observer.h"
#include "store/recovery.h"
#include "store/room.h"
#include "store/store.h"

// What a Store is made of. Included by store's own files only.
namespace perennial::store {

// What the tables of a family hold, by their own account.
struct TableCounts {
  uint64_t puts = 0;
  uint64_t tombstones = 0;
  uint64_t bytes = 0;

  // By the rules of SingleDelete each tombstone still waits for exactly one put.
  uint64_t rows() const { return puts - std::min(puts, tombstones); }
};

// An open RocksDB and its families. Closes in the right order.
class Database {
 public:
  static Result<Database> open(const std::string& path, const Options& options, Failure& failure);
  // Only what is in the tables, as if there were no log. Each is opened once: Corruption if one
  // cannot be. Writes nothing.
  static Result<Database> open_tables(const std::string& path, const Options& options,
                                      Failure& failure, View view);
  // Everything in the view, the log included. Writes nothing.
  static Result<Database> open_to_read(const std::string& path, const Options& options,
                                       Failure& failure, View view);
  static Result<Database> create(const std::string& path, const Options& options, Failure& failure);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) = delete;
  ~Database();

  rocksdb::DB& operator*() const { return *db_; }
  rocksdb::DB* operator->() const { return db_.get(); }
  rocksdb::ColumnFamilyHandle* family(Family family) const { return families_[place_of(family)]; }
  rocksdb::ColumnFamilyHandle* family(JobState state) const { return family(family_of(state)); }
  Result<TableCounts> count_tables(Family family) const;
  Result<std::vector<TableSpan>> table_spans(Family family) const;
  Debt debt() const;
  // Of every family at once.
  rocksdb::Status flush() const;
  // How far its log was synced since it was opened.
  LogProgress::Place synced_log() const { return log_progress_->synced(); }
  rocksdb::Status flush(Family family) const;
  // Changes whenever something was written.
  uint64_t progress() const { return guard_->progress(); }
  uint64_t log_bytes() const { return guard_->log_bytes(); }
  // So much was written to the log.
  void on_written(uint64_t bytes) const { guard_->on_written(bytes); }
  // From here on no compaction begins by itself that reads more than there is room to write, unless
  // it is small or some is lent to it: compaction_guard.h.
  void limit_compactions(uint64_t free_bytes, uint64_t lent_bytes) const;
  // Lets go of the families, closes, and says how that went.
  Status close();

 private:
  Database() = default;
  static Result<Database> open_read_only(const std::string& path, const Options& options,
                                         Failure& failure, View view);
  static Result<Database> open_with(Database&& database, const rocksdb::DBOptions& how,
                                    const std::string& path,
                                    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

  // Each before all that uses it.
  std::unique_ptr<LogProgress> log_progress_ = std::make_unique<LogProgress>();
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<rocksdb::SstFileManager> files_;
  std::shared_ptr<CompactionGuard> guard_;  // Only of one that is open to be written.
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // In the order of Family.
};

struct Store::Impl {
  Impl(Options given, DataDir locked)
      : options(std::move(given)), dir(std::move(locked)), failure(options.events) {}

  // compact.cc. A compaction that found no room, and what there was then.
  struct HeldUp {
    uint64_t rows;
    uint64_t free_bytes;
    Nanos at;
  };
  class Loan;

  // The steps of open().
  Status open();
  Status prepare_room();
  Status create();
  Result<RecoveryPlan> recover();
  Status read_meta(JobId next_id_min);
  Status count_rows();
  Status begin_epoch();
  Status begin_durable_mark();
  // Notes beside the log how far it is synced. By the thread that writes.
  Status note_durable();

  // Adds to `writes`, and writes them. A failure is latched.
  void add_job(const JobEffect& job);
  void put_row(Family family, const rocksdb::SliceParts& key, const rocksdb::SliceParts& value);
  void remove_row(Family family, std::string_view key);
  void add_meta(MetaTag tag, std::string_view value);
  void add_commit_row();
  Status write(bool sync);
  Status look_at_room();
  void look_at_debt();
  // Whether anything has changed since this family's compaction last found no room.
  bool may_compact(Family family) const;
  Status compact(Family family, const TableCounts& tables, std::atomic<bool>& cancelled);
  // All of it if there is no range.
  rocksdb::Status compact_range(Family family, const KeyRange* range, std::atomic<bool>& cancelled);
  // Turns what RocksDB said of a write into a Status, and latches a failure.
  Status settle(const rocksdb::Status& status, std::string_view doing);
  uint64_t rows_of(Family family) const { return rows[place_of(family)].load(); }
  void inform(std::string_view at, std::string_view fields) const;

  Options options;
  DataDir dir;
  Failure failure;
  std::optional<Room> room;  // From the first step of open() on.
  std::unique_ptr<Database> db;
  std::unique_ptr<DurableMarkFile> durable_mark;  // From the last step of open() on.
  Opening opening;
  JobId stored_next_id = 1;  // What open() found.
  std::string identity;
  // How many rows each family of jobs has: by the account of its tables at open, and by ours since.
  // The writing thread's to change.
  std::array<std::atomic<uint64_t>, family_count> rows = {};
  // Room that a compaction is allowed and does not need: compact.cc.
  std::atomic<uint64_t> lent_bytes = 0;
  std::array<std::optional<HeldUp>, family_count> held_up = {};  // The housekeeper's.
  CommitRow last;              // The last commit row written. The writing thread's.
  BatchIndex durable = 0;      // The disk has everything up to here. The writing thread's.
  rocksdb::WriteBatch writes;  // Kept for its memory. The writing thread's.
  std::atomic<uint64_t> bytes_written = 0;
  std::atomic<bool> behind = false;
};

inline rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
inline std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// For calls that can only fail through a mistake of ours.
inline void must(const rocksdb::Status& status) {
  CHECK(status.ok());
}

}  // namespace perennial::store
