#include "store/rocks/table_check.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// Most of the time goes into waiting for the disk.
constexpr size_t threads_max = 8;

Status check_table(const std::string& path, const rocksdb::Options& how) {
  rocksdb::SstFileReader table(how);
  const rocksdb::Status opened = table.Open(path);
  if (opened.ok()) return {};
  Status out = from_rocksdb(opened).with(path);
  const bool is_damage = opened.IsNotFound() || opened.IsPathNotFound() ||
                         opened.IsInvalidArgument() || opened.IsNotSupported();
  return is_damage ? Status(StatusCode::Corruption, out.message()) : out;
}

}  // namespace

Status check_tables(rocksdb::DB& db) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  rocksdb::Options options(db.GetDBOptions(), rocksdb::ColumnFamilyOptions());
  // Else it warns that tables which are opened by their path have no id to be compared with. What
  // is wrong with one is in the status.
  options.info_log.reset();
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // For the result.
  Status result;
  const auto work = [&] {
    for (size_t at = next++; at < tables.size(); at = next++) {
      Status checked =
          check_table(tables[at].directory + "/" + tables[at].relative_filename, options);
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
