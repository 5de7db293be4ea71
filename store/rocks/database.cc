#include "store/rocks/database.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "store/damage/containment.h"
#include "store/rocks/log_env.h"
#include "store/rocks/observer.h"
#include "store/rocks/rocksdb_versions.h"
#include "store/rocks/table_check.h"
#include "store/rocks/tuning.h"
#include "store/space/compaction_guard.h"
#include "store/space/disk_space.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// In a database that exists, a missing file or family is damage.
// RocksDB names the tables that it cannot find in lines such as "Can't access /000012.sst: ERROR".
std::string names_of_missing_tables(std::string_view message) {
  constexpr std::string_view head = "Can't access /";
  std::string names;
  for (size_t at = message.find(head); at != std::string_view::npos; at = message.find(head, at)) {
    at += head.size();
    if (!names.empty()) names += ", ";
    names += message.substr(at, message.find(':', at) - at);
  }
  return names;
}

Status opening_status(const rocksdb::Status& status) {
  Status out = from_rocksdb(status);
  const std::string missing = names_of_missing_tables(out.message());
  if (!missing.empty()) {
    return {StatusCode::Corruption,
            fmt::format("tables that the MANIFEST names are missing, or their sizes cannot be "
                        "read: {}",
                        missing)};
  }
  const bool is_damage = status.IsInvalidArgument() || status.IsPathNotFound() ||
                         status.IsNotFound() || status.IsNotSupported();
  if (out.ok() || !is_damage) return out;
  return {StatusCode::Corruption, out.message()};
}

Result<std::vector<std::string>> list_families(const std::string& path,
                                               const rocksdb::DBOptions& db) {
  std::vector<std::string> names;
  const auto listed = rocksdb::DB::ListColumnFamilies(db, path, &names);
  if (!listed.ok()) return opening_status(listed);
  return names;
}

// Whether any format that this program knows has a family of this name.
bool is_known(std::string_view name, const Options& options) {
  return std::ranges::any_of(options.families, [&](FamilyNames names) {
    return std::ranges::find(names, name) != names.end();
  });
}

// RocksDB compares two sizes with the space allowed. If the tables exceed it, the database fails
// for good. If a compaction and its buffer exceed it, the compaction waits. Only the second check
// is wanted, so this large number is added to both the space and the buffer.
constexpr uint64_t unlimited_bytes = 1ULL << 50;

// From here on RocksDB begins no compaction that reads more than `bytes`.
void allow_space(rocksdb::SstFileManager& files, uint64_t bytes) {
  files.SetMaxAllowedSpaceUsage(unlimited_bytes + files.GetTotalSize() + bytes);
}

// By default a flush first waits until it cannot cause a write stall. With 80 tables at level 0 and
// no space to compact them it would wait for ever.
rocksdb::FlushOptions at_once() {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  return options;
}

// A family of another format gets the options of meta: only migrations read it, row by row.
rocksdb::ColumnFamilyOptions options_of(std::string_view name, const Options& options) {
  const auto found = std::ranges::find(family_names, name);
  const auto place = static_cast<size_t>(found - family_names.begin());
  return family_options(place < family_count ? static_cast<Family>(place) : Family::Meta, options);
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors(const std::vector<std::string>& names,
                                                         const Options& options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.emplace_back(name, options_of(name, options));
  return out;
}

// The families of a new database.
std::vector<std::string> first_names(const Options& options) {
  const FamilyNames names = families_of(options.format_min, options.families);
  return {names.begin(), names.end()};
}

}  // namespace

Result<Database> Database::open(const std::string& path, const Options& options,
                                StoreFailure& failure, Containment* containment) {
  Database database;
  database.guard_ = std::make_shared<CompactionGuard>(options);
  database.env_ = make_log_env(options.env, path, *database.log_progress_, database.guard_,
                               containment != nullptr ? &containment->substitutes() : nullptr);
  rocksdb::DBOptions how = db_options(options, make_logger(options.events),
                                      make_listener(failure, database.guard_, containment));
  how.env = database.env_.get();
  how.sst_file_manager.reset(rocksdb::NewSstFileManager(how.env, how.info_log));
  how.sst_file_manager->SetCompactionBufferSize(unlimited_bytes);
  const Result<Space> free = free_space_of(path, options);
  if (!free.ok()) return free.status();
  allow_space(*how.sst_file_manager, free->bytes);
  // Which families it must have depends on its format, and so the caller calls check_families().
  Result<std::vector<std::string>> names = list_families(path, how);
  if (!names.ok()) return names.take_status();
  database.names_ = names.take();
  const auto families = descriptors(database.names_, options);
  return open_with(std::move(database), how, path, families);
}

Result<Database> Database::open_tables(const std::string& path, const Options& options,
                                       StoreFailure& failure, View view) {
  view.has_logs = false;
  // open_each_table() opens every table below, so RocksDB need not keep many open.
  Options few_open = options;
  few_open.open_tables_max = open_tables_min;
  Result<Database> database = open_read_only(path, few_open, failure, std::move(view));
  if (!database.ok()) return database;
  if (Status whole = open_each_table(**database); !whole.ok()) return whole;
  return database;
}

Result<Database> Database::open_to_read(const std::string& path, const Options& options,
                                        StoreFailure& failure, View view) {
  return open_read_only(path, options, failure, std::move(view));
}

Result<Database> Database::open_leniently(const std::string& path, const Options& options,
                                          StoreFailure& failure, View view) {
  return open_read_only(path, options, failure, std::move(view), Damage::Skipped);
}

Result<Database> Database::open_without_properties(const std::string& path, const Options& options,
                                                   StoreFailure& failure, View view) {
  return open_read_only(path, options, failure, std::move(view), Damage::SkippedWithoutProperties);
}

Result<Database> Database::open_read_only(const std::string& path, const Options& options,
                                          StoreFailure& failure, View view, Damage damage) {
  std::unique_ptr<rocksdb::Env> env = make_view_env(options.env, std::move(view));
  rocksdb::DBOptions how = db_options(options, make_logger(options.events), make_listener(failure));
  how.env = env.get();
  how.verify_sst_unique_id_in_manifest = damage != Damage::SkippedWithoutProperties;
  if (damage != Damage::Refused) {
    how.paranoid_checks = false;
    how.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  }
  Result<std::vector<std::string>> names = list_families(path, how);
  if (!names.ok()) return names.take_status();
  Database database;
  database.names_ = names.take();
  // Other families are not opened, because only a newer version knows their options.
  std::vector<std::string> known;
  std::ranges::copy_if(database.names_, std::back_inserter(known),
                       [&](const std::string& name) { return is_known(name, options); });
  std::vector<rocksdb::ColumnFamilyHandle*> opened;
  const auto status =
      open_db_for_read_only(database.db_, how, path, descriptors(known, options), &opened);
  database.add_families(opened);
  if (!status.ok()) return opening_status(status);
  database.env_ = std::move(env);
  return database;
}

// The families are made after the open and not by DB::Open: if DB::Open fails to make one of them,
// RocksDB 7.8 aborts the process.
Result<Database> Database::create(const std::string& path, const Options& options,
                                  StoreFailure& failure) {
  Database created;
  created.env_ = make_log_env(options.env, path, *created.log_progress_, nullptr);
  rocksdb::DBOptions how = db_options(options, make_logger(options.events), make_listener(failure));
  how.env = created.env_.get();
  how.create_if_missing = how.error_if_exists = true;
  created.names_ = first_names(options);
  std::vector<rocksdb::ColumnFamilyDescriptor> families = descriptors(created.names_, options);
  Result<Database> database = open_with(std::move(created), how, path, {families.front()});
  if (!database.ok()) return database;
  families.erase(families.begin());
  std::vector<rocksdb::ColumnFamilyHandle*> made;
  const auto status = database->db_->CreateColumnFamilies(families, &made);
  database->add_families(made);
  if (!status.ok()) return from_rocksdb(status);
  return database;
}

Result<Database> Database::open_with(Database&& database, const rocksdb::DBOptions& how,
                                     const std::string& path,
                                     const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  database.files_ = how.sst_file_manager;
  std::vector<rocksdb::ColumnFamilyHandle*> opened;
  const auto status = open_db(database.db_, how, path, families, &opened);
  database.add_families(opened);
  if (!status.ok()) return opening_status(status);
  return std::move(database);
}

void Database::add_families(const std::vector<rocksdb::ColumnFamilyHandle*>& added) {
  {
    const std::lock_guard lock(families_->mutex);
    families_->all.insert(families_->all.end(), added.begin(), added.end());
  }
  place_families();
}

// Releases them, so that whoever finds a family here finds it as it was made.
void Database::place_families() {
  for (size_t place = 0; place < family_count; ++place) {
    families_->places[place].store(family(perennial::store::family_names[place]),
                                   std::memory_order_release);
  }
}

std::vector<rocksdb::ColumnFamilyHandle*> Database::all_families() const {
  const std::lock_guard lock(families_->mutex);
  return families_->all;
}

rocksdb::ColumnFamilyHandle* Database::family(std::string_view name) const {
  const auto all = all_families();
  const auto found = std::ranges::find_if(
      all, [&](rocksdb::ColumnFamilyHandle* family) { return family->GetName() == name; });
  return found != all.end() ? *found : nullptr;
}

Status Database::create_family(const std::string& name, const Options& options) {
  rocksdb::ColumnFamilyHandle* made = nullptr;
  const auto status = db_->CreateColumnFamily(options_of(name, options), name, &made);
  if (made != nullptr) {
    names_.push_back(name);
    add_families({made});
  }
  return from_rocksdb(status).with("make the family " + name);
}

Status Database::drop_family(const std::string& name) {
  rocksdb::ColumnFamilyHandle* const handle = family(name);
  CHECK(handle != nullptr);
  const auto status = db_->DropColumnFamily(handle);
  if (!status.ok()) return from_rocksdb(status).with("drop the family " + name);
  {
    const std::lock_guard lock(families_->mutex);
    std::erase(families_->all, handle);
  }
  std::erase(names_, name);
  place_families();
  must(db_->DestroyColumnFamilyHandle(handle));
  return {};
}

rocksdb::Status Database::flush() const {
  return db_->Flush(at_once(), all_families());
}

rocksdb::Status Database::flush(Family which) const {
  rocksdb::ColumnFamilyHandle* const found = family(which);
  return found == nullptr ? rocksdb::Status() : db_->Flush(at_once(), found);
}

Result<TableCounts> Database::count_tables(Family which) const {
  rocksdb::ColumnFamilyHandle* const found = family(which);
  if (found == nullptr) return TableCounts();
  rocksdb::TablePropertiesCollection tables;
  const auto asked = db_->GetPropertiesOfAllTables(found, &tables);
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
  rocksdb::ColumnFamilyHandle* const family = this->family(which);
  if (family == nullptr) return std::vector<TableSpan>();
  rocksdb::TablePropertiesCollection tables;
  const auto asked = db_->GetPropertiesOfAllTables(family, &tables);
  if (!asked.ok()) return from_rocksdb(asked);
  rocksdb::ColumnFamilyMetaData content;
  db_->GetColumnFamilyMetaData(family, &content);
  std::vector<TableSpan> out;
  for (const rocksdb::LevelMetaData& level : content.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      // A table that was made between the two calls has only entries of other tables.
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

WriteBacklog Database::write_backlog() const {
  const std::string tables_property = rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0";
  WriteBacklog backlog;
  for (rocksdb::ColumnFamilyHandle* const family : all_families()) {
    uint64_t memtables = 0;
    std::string tables;
    CHECK(db_->GetIntProperty(family, rocksdb::DB::Properties::kNumImmutableMemTable, &memtables));
    CHECK(db_->GetProperty(family, tables_property, &tables));
    backlog.memtables = std::max(backlog.memtables, memtables);
    backlog.tables = std::max<uint64_t>(backlog.tables, std::stoull(tables));
  }
  return backlog;
}

void Database::limit_compactions(uint64_t free_bytes, uint64_t reserved_space_bytes) const {
  const uint64_t left_bytes = free_bytes - std::min(free_bytes, guard_->reserve_bytes());
  allow_space(*files_, std::max(left_bytes, small_compaction_bytes) + reserved_space_bytes);
}

Database::~Database() {
  ignore(close(), "a caller that needs the status has called close() before");
}

Status Database::close() {
  if (db_ == nullptr) return {};
  for (rocksdb::ColumnFamilyHandle* family : families_->all)
    must(db_->DestroyColumnFamilyHandle(family));
  families_->all.clear();
  Status closed = from_rocksdb(db_->Close());
  db_.reset();
  return closed;
}

}  // namespace perennial::store
