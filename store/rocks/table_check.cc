#include "store/rocks/table_check.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "store/format/format.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// More threads than cores are useful, because most of the time is spent waiting for the disk.
constexpr size_t threads_max = 8;

bool is_of(const rocksdb::LiveFileMetaData& table, Family family) {
  return table.column_family_name == family_names[place_of(family)];
}

// Where rows are overwritten, their number is not in the properties of tables, and no count shows
// that a scan has missed a damaged block. RocksDB 7.8.3 skips one without an error at the beginning
// of a table, if it is not the first of its level (pull request 11782). Such families of the state
// are small, so all their blocks are read.
bool has_no_account(const rocksdb::LiveFileMetaData& table) {
  const std::optional<Family> family = family_named(table.column_family_name);
  return family && is_loaded(*family) && is_overwritten(*family);
}

Status check_table(const std::string& path, const rocksdb::Options& how, bool all_blocks) {
  rocksdb::SstFileReader table(how);
  rocksdb::Status opened = table.Open(path);
  if (opened.ok() && all_blocks) opened = table.VerifyChecksum();
  if (opened.ok()) return {};
  Status out = from_rocksdb(opened).with(path);
  const bool is_damage = opened.IsNotFound() || opened.IsPathNotFound() ||
                         opened.IsInvalidArgument() || opened.IsNotSupported();
  return is_damage ? Status(StatusCode::Corruption, out.message()) : out;
}

std::string file_of(const rocksdb::LiveFileMetaData& table) {
  return table.directory + "/" + table.relative_filename;
}

// With a logger RocksDB warns that tables opened by their path have no unique id to compare. The
// status says what is wrong with a table.
rocksdb::Options reading_options(rocksdb::DB& db) {
  rocksdb::Options options(db.GetDBOptions(), rocksdb::ColumnFamilyOptions());
  options.info_log.reset();
  return options;
}

// Several threads share the tables. Those of which `reads_all` is true are read, too.
Status check_tables(rocksdb::DB& db, const std::vector<rocksdb::LiveFileMetaData>& tables,
                    const std::function<bool(const rocksdb::LiveFileMetaData&)>& reads_all) {
  const rocksdb::Options options = reading_options(db);
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // Guards the result.
  Status result;
  const auto work = [&] {
    for (size_t at = next++; at < tables.size(); at = next++) {
      const rocksdb::LiveFileMetaData& table = tables[at];
      Status checked = check_table(file_of(table), options, reads_all(table));
      const std::lock_guard lock(mutex);
      if (!checked.ok() && result.ok()) result = std::move(checked);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(threads_max, tables.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return result;
}

}  // namespace

Status read_each_block(rocksdb::DB& db, std::span<const Family> families) {
  const auto is_wanted = [&](const rocksdb::LiveFileMetaData& table) {
    return std::ranges::any_of(families, [&](Family family) { return is_of(table, family); });
  };
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  std::erase_if(tables, [&](const auto& table) { return !is_wanted(table); });
  return check_tables(db, tables, is_wanted);
}

Status open_each_table(rocksdb::DB& db) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  return check_tables(db, tables, has_no_account);
}

}  // namespace perennial::store
