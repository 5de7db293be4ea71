#include "store/rocks/database.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "store/rocks/log_env.h"
#include "store/rocks/observer.h"
#include "store/rocks/rocksdb_versions.h"
#include "store/rocks/table_check.h"
#include "store/rocks/tuning.h"
#include "store/space/compaction_guard.h"
#include "store/space/room.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// A file or a family that is not there is damage, in a database that is.
Status opening_status(const rocksdb::Status& status) {
  Status out = from_rocksdb(status);
  const bool is_damage = status.IsInvalidArgument() || status.IsPathNotFound() ||
                         status.IsNotFound() || status.IsNotSupported();
  if (out.ok() || !is_damage) return out;
  return {StatusCode::Corruption, out.message()};
}

// Only a newer version has families that we do not know.
Status check_families(const std::string& path, const rocksdb::DBOptions& db) {
  std::vector<std::string> names;
  if (const auto listed = rocksdb::DB::ListColumnFamilies(db, path, &names); !listed.ok()) {
    return opening_status(listed);
  }
  for (const std::string& name : names) {
    if (std::ranges::find(family_names, name) != family_names.end()) continue;
    return {StatusCode::Unsupported,
            fmt::format("it has a family {}, which only a newer version knows", name)};
  }
  return {};
}

// RocksDB checks two things against the space allowed: that tables stay below it, where it fails
// for good, and that a compaction with its buffer does, where the compaction waits. Only the second
// is wanted: this much is added to both the space and the buffer.
constexpr uint64_t unlimited_bytes = 1ULL << 50;

// No compaction begins that reads more than this.
void allow_space(rocksdb::SstFileManager& files, uint64_t bytes) {
  files.SetMaxAllowedSpaceUsage(unlimited_bytes + files.GetTotalSize() + bytes);
}

// By default RocksDB would first wait until the flush could not hold up writes: for ever, where 80
// tables lie at level 0 and there is no room to compact them.
rocksdb::FlushOptions at_once() {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors(const Options& options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> out;
  for (size_t place = 0; place < family_count; ++place) {
    out.emplace_back(std::string(family_names[place]),
                     family_options(static_cast<Family>(place), options));
  }
  return out;
}

}  // namespace

Result<Database> Database::open(const std::string& path, const Options& options, Failure& failure) {
  Database database;
  database.guard_ = std::make_shared<CompactionGuard>(options);
  database.env_ = make_log_env(options.env, *database.log_progress_, database.guard_);
  rocksdb::DBOptions how =
      db_options(options, make_logger(options.events), make_listener(failure, database.guard_));
  how.env = database.env_.get();
  how.sst_file_manager.reset(rocksdb::NewSstFileManager(how.env, how.info_log));
  how.sst_file_manager->SetCompactionBufferSize(unlimited_bytes);
  const Result<uint64_t> free_bytes = free_bytes_of(path, options);
  if (!free_bytes.ok()) return free_bytes.status();
  allow_space(*how.sst_file_manager, *free_bytes);
  return open_with(std::move(database), how, path, descriptors(options));
}

Result<Database> Database::open_tables(const std::string& path, const Options& options,
                                       Failure& failure, View view) {
  view.has_logs = false;
  Options few_open =
      options;  // Each is opened once, below: whoever asks meets the same damage first.
  few_open.open_tables_max = open_tables_min;
  Result<Database> database = open_read_only(path, few_open, failure, std::move(view));
  if (!database.ok()) return database;
  if (Status whole = check_tables(**database); !whole.ok()) return whole;
  return database;
}

Result<Database> Database::open_to_read(const std::string& path, const Options& options,
                                        Failure& failure, View view) {
  return open_read_only(path, options, failure, std::move(view));
}

Result<Database> Database::open_read_only(const std::string& path, const Options& options,
                                          Failure& failure, View view) {
  std::unique_ptr<rocksdb::Env> env = make_view_env(options.env, std::move(view));
  rocksdb::DBOptions how = db_options(options, make_logger(options.events), make_listener(failure));
  how.env = env.get();
  if (Status known = check_families(path, how); !known.ok()) return known;
  Database database;
  const auto status =
      open_db_for_read_only(database.db_, how, path, descriptors(options), &database.families_);
  if (!status.ok()) return opening_status(status);
  database.env_ = std::move(env);
  return database;
}

// The families are made one after the other: where DB::Open makes them itself and fails at one of
// them, 7.8 aborts the process.
Result<Database> Database::create(const std::string& path, const Options& options,
                                  Failure& failure) {
  Database created;
  created.env_ = make_log_env(options.env, *created.log_progress_, nullptr);
  rocksdb::DBOptions how = db_options(options, make_logger(options.events), make_listener(failure));
  how.env = created.env_.get();
  how.create_if_missing = how.error_if_exists = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> families = descriptors(options);
  Result<Database> database = open_with(std::move(created), how, path, {families.front()});
  if (!database.ok()) return database;
  families.erase(families.begin());
  std::vector<rocksdb::ColumnFamilyHandle*> made;
  const auto status = database->db_->CreateColumnFamilies(families, &made);
  database->families_.insert(database->families_.end(), made.begin(), made.end());
  if (!status.ok()) return from_rocksdb(status);
  return database;
}

Result<Database> Database::open_with(Database&& database, const rocksdb::DBOptions& how,
                                     const std::string& path,
                                     const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  database.files_ = how.sst_file_manager;
  const auto status = open_db(database.db_, how, path, families, &database.families_);
  if (!status.ok()) return opening_status(status);
  return std::move(database);
}

rocksdb::Status Database::flush() const {
  return db_->Flush(at_once(), families_);
}

rocksdb::Status Database::flush(Family which) const {
  return db_->Flush(at_once(), family(which));
}

Result<TableCounts> Database::count_tables(Family which) const {
  rocksdb::TablePropertiesCollection tables;
  const auto asked = db_->GetPropertiesOfAllTables(family(which), &tables);
  if (!asked.ok()) return from_rocksdb(asked);
  TableCounts out;
  for (const auto& [name, table] : tables) {
    out.puts += table->num_entries - table->num_deletions;
    out.tombstones += table->num_deletions;
    out.bytes += table->data_size;
  }
  return out;
}

Result<std::vector<TableSpan>> Database::table_spans(Family which) const {
  rocksdb::TablePropertiesCollection tables;
  const auto asked = db_->GetPropertiesOfAllTables(family(which), &tables);
  if (!asked.ok()) return from_rocksdb(asked);
  rocksdb::ColumnFamilyMetaData content;
  db_->GetColumnFamilyMetaData(family(which), &content);
  std::vector<TableSpan> out;
  for (const rocksdb::LevelMetaData& level : content.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      // A table that was made in between has what others had.
      const auto found = tables.find(file.directory + "/" + file.relative_filename);
      out.push_back({.level = level.level,
                     .smallest = file.smallestkey,
                     .largest = file.largestkey,
                     .bytes = file.size,
                     .tombstones = found == tables.end() ? 0 : found->second->num_deletions});
    }
  }
  return out;
}

Debt Database::debt() const {
  const std::string tables_property = rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0";
  Debt debt;
  for (rocksdb::ColumnFamilyHandle* const family : families_) {
    uint64_t memtables = 0;
    std::string tables;
    CHECK(db_->GetIntProperty(family, rocksdb::DB::Properties::kNumImmutableMemTable, &memtables));
    CHECK(db_->GetProperty(family, tables_property, &tables));
    debt.memtables = std::max(debt.memtables, memtables);
    debt.tables = std::max<uint64_t>(debt.tables, std::stoull(tables));
  }
  return debt;
}

void Database::limit_compactions(uint64_t free_bytes, uint64_t lent_bytes) const {
  const uint64_t left_bytes = free_bytes - std::min(free_bytes, guard_->reserve_bytes());
  allow_space(*files_, std::max(left_bytes, small_compaction_bytes) + lent_bytes);
}

Database::~Database() {
  ignore(close(), "whoever cares has closed it before");
}

Status Database::close() {
  if (db_ == nullptr) return {};
  for (rocksdb::ColumnFamilyHandle* family : families_)
    must(db_->DestroyColumnFamilyHandle(family));
  families_.clear();
  Status closed = from_rocksdb(db_->Close());
  db_.reset();
  return closed;
}

}  // namespace perennial::store
