#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_manager.h>

#include "engine/types/check.h"
#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/rocks/log_env.h"
#include "store/rocks/observer.h"
#include "store/space/compaction_guard.h"
#include "store/space/compaction_pieces.h"
#include "store/space/write_backlog.h"
#include "store/types/database_figures.h"
#include "store/types/options.h"

// Included by store's own files only.
namespace perennial::store {

class Containment;

// The sums over the properties of a family's tables.
struct TableCounts {
  uint64_t puts = 0;
  uint64_t tombstones = 0;
  uint64_t bytes = 0;

  // Under the rules of SingleDelete each tombstone on disk removes exactly one put.
  uint64_t rows() const { return puts - std::min(puts, tombstones); }
};

// An open RocksDB and its families. It closes the families before the database.
class Database {
 public:
  // `containment` may be null, and must outlive the result.
  static Result<Database> open(const std::string& path, const Options& options,
                               StoreFailure& failure, Containment* containment = nullptr);
  // Opens the tables without the log, read-only, and opens each table once. Corruption: a table
  // cannot be opened.
  static Result<Database> open_tables(const std::string& path, const Options& options,
                                      StoreFailure& failure, View view);
  // Opens everything in the view, including the log, read-only.
  static Result<Database> open_to_read(const std::string& path, const Options& options,
                                       StoreFailure& failure, View view);
  // The same for a salvage: a table that cannot be opened is no error until a row of it is read,
  // and records of the log that cannot be read are left out.
  static Result<Database> open_leniently(const std::string& path, const Options& options,
                                         StoreFailure& failure, View view);
  // The same for a table whose properties were lost, so that nothing says whose it was.
  static Result<Database> open_without_properties(const std::string& path, const Options& options,
                                                  StoreFailure& failure, View view);
  static Result<Database> create(const std::string& path, const Options& options,
                                 StoreFailure& failure);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) = delete;
  ~Database();

  rocksdb::DB& operator*() const { return *db_; }
  rocksdb::DB* operator->() const { return db_.get(); }
  // Null: the database has no such family. One that is open to be written has all of its format,
  // and create_family() may add one at any moment. Any thread.
  rocksdb::ColumnFamilyHandle* family(Family family) const {
    return families_->places[place_of(family)].load(std::memory_order_acquire);
  }
  rocksdb::ColumnFamilyHandle* family(JobState state) const { return family(family_of(state)); }
  // Finds a family by its name on disk. Null: there is none, or the database is open to be read and
  // this program does not know the family.
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const;
  // The names of all families, including those that this program does not know. Only the thread
  // that makes and drops families calls these.
  const std::vector<std::string>& family_names() const { return names_; }
  bool has_family(std::string_view name) const { return std::ranges::count(names_, name) > 0; }
  // The change is durable when the function returns. While it runs, nobody writes. REQUIRES: there
  // is no such family. `options` are those that the database was opened with.
  Status create_family(const std::string& name, const Options& options);
  // For migrations. Nobody else uses the database. The change is durable when it returns.
  Status drop_family(const std::string& name);
  // Nothing, if there is no such family.
  Result<TableCounts> count_tables(Family family) const;
  Result<std::vector<TableSpan>> table_spans(Family family) const;
  WriteBacklog write_backlog() const;
  // Flushes every family at once.
  rocksdb::Status flush() const;
  // How far the log was synced since the database was opened.
  LogProgress::Place synced_log() const { return log_progress_->synced(); }
  // Does nothing if there is no such family.
  rocksdb::Status flush(Family family) const;
  // A number that changes whenever the log or a table is written or a table is synced.
  uint64_t progress() const { return guard_->progress(); }
  uint64_t log_bytes() const { return guard_->log_bytes(); }
  // The writer calls it after it has written so many bytes to the log.
  void on_written(uint64_t bytes) const { guard_->on_written(bytes); }
  // From here on RocksDB begins no compaction that reads more than the free space that compactions
  // may use. Small compactions always begin, and the reservation is added: compaction_guard.h.
  void limit_compactions(uint64_t free_bytes, uint64_t reserved_space_bytes) const;
  // Releases the families and closes the database. A second call does nothing.
  Status close();

 private:
  // One may be made while other threads use the database.
  struct Families {
    mutable std::mutex mutex;  // Guards `all`.
    std::vector<rocksdb::ColumnFamilyHandle*> all;
    // In the order of Family.
    std::array<std::atomic<rocksdb::ColumnFamilyHandle*>, family_count> places = {};
  };

  Database() = default;
  enum class Damage : uint8_t { Refused, Skipped, SkippedWithoutProperties };
  static Result<Database> open_read_only(const std::string& path, const Options& options,
                                         StoreFailure& failure, View view,
                                         Damage damage = Damage::Refused);
  // Adds them to `all`. They are found from then on.
  void add_families(const std::vector<rocksdb::ColumnFamilyHandle*>& added);
  void place_families();
  std::vector<rocksdb::ColumnFamilyHandle*> all_families() const;
  static Result<Database> open_with(Database&& database, const rocksdb::DBOptions& how,
                                    const std::string& path,
                                    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

  // Each member is declared before those that use it, so that it is destroyed after them.
  std::unique_ptr<LogProgress> log_progress_ = std::make_unique<LogProgress>();
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<rocksdb::SstFileManager> files_;
  std::shared_ptr<CompactionGuard> guard_;  // Null unless open() has opened the database.
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<Families> families_ = std::make_unique<Families>();
  std::vector<std::string> names_;
};

inline rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
inline std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// For calls that fail only through a bug of ours.
inline void must(const rocksdb::Status& status) {
  CHECK(status.ok());
}

// Reads all figures. It takes the lock of the database some twenty times, and so it is called once
// a second. REQUIRES: the database was opened to be written.
DatabaseFigures read_figures(const Database& db);

}  // namespace perennial::store
