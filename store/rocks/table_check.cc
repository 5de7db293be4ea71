#include "store/rocks/table_check.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
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

// Rows of these two families are overwritten, so their number is not in the properties of tables,
// and no count shows that a scan has missed a damaged block. RocksDB 7.8.3 skips one without an
// error at the beginning of a table, if it is not the first of its level (pull request 11782). The
// families are small, so all their blocks are read.
bool has_no_account(std::string_view family) {
  return family == name_of(Family::Meta) || family == name_of(Family::Keys);
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

}  // namespace

Status read_each_block(rocksdb::DB& db, Family family) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (table.column_family_name != name_of(family)) continue;
    if (Status read = check_table(file_of(table), reading_options(db), true); !read.ok())
      return read;
  }
  return {};
}

Status open_each_table(rocksdb::DB& db) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  const rocksdb::Options options = reading_options(db);
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // Guards the result.
  Status result;
  const auto work = [&] {
    for (size_t at = next++; at < tables.size(); at = next++) {
      const rocksdb::LiveFileMetaData& table = tables[at];
      Status checked =
          check_table(file_of(table), options, has_no_account(table.column_family_name));
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

}  // namespace perennial::store
