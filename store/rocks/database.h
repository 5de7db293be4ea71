#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
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
#include "store/space/debt.h"
#include "store/types/options.h"

// Included by store's own files only.
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
  // REQUIRES: it has one; those of its own format, every database has that is open to be written.
  rocksdb::ColumnFamilyHandle* family(Family family) const { return places_[place_of(family)]; }
  rocksdb::ColumnFamilyHandle* family(JobState state) const { return family(family_of(state)); }
  // By its name on disk; null if there is none, or if it is one that this program does not know in
  // a database that is open to be read.
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const;
  // All there are, whether they are known or not. Empty where it was not asked.
  const std::vector<std::string>& family_names() const { return names_; }
  bool has_family(std::string_view name) const { return std::ranges::count(names_, name) > 0; }
  // For migrations. Durable at once.
  Status create_family(const std::string& name, const Options& options);
  Status drop_family(const std::string& name);
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
  void place_families();
  static Result<Database> open_with(Database&& database, const rocksdb::DBOptions& how,
                                    const std::string& path,
                                    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

  // Each before all that uses it.
  std::unique_ptr<LogProgress> log_progress_ = std::make_unique<LogProgress>();
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<rocksdb::SstFileManager> files_;
  std::shared_ptr<CompactionGuard> guard_;  // Only of one that is open to be written.
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::array<rocksdb::ColumnFamilyHandle*, family_count> places_ = {};  // In the order of Family.
  std::vector<std::string> names_;
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
