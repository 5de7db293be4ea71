#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

// File systems to put between RocksDB and the disk. Included by store's own files only.
namespace perennial::store {

// How far the log files of a database were synced. Any thread.
class LogProgress {
 public:
  // A place in the log: a file's number, and how many of its bytes.
  struct Place {
    uint64_t number = 0;
    uint64_t bytes = 0;
    auto operator<=>(const Place&) const = default;
  };

  // A log file was synced up to here. What is older than what was synced before changes nothing:
  // RocksDB also syncs log files that were closed long ago.
  void synced(Place place) {
    const std::lock_guard lock(mutex_);
    synced_ = std::max(synced_, place);
  }
  Place synced() const {
    const std::lock_guard lock(mutex_);
    return synced_;
  }

 private:
  mutable std::mutex mutex_;  // A flush syncs log files on a thread of RocksDB's.
  Place synced_;
};

class CompactionGuard;

// In this one a log file's name is durable before anything is written to it. RocksDB names a new
// log in its MANIFEST and deletes the older ones, and syncs the directory only later: after a power
// cut between the two, the log would be gone with everything in it. And a file beside the log, its
// mark, carries the number of the newest one in its name, because the MANIFEST learns of a log only
// when something has been flushed since.
// `progress` outlives it, and learns of each sync of a log file. A guard, if there is one, is told
// of the log files, and watches over the tables.
std::unique_ptr<rocksdb::Env> make_log_env(rocksdb::Env* base, LogProgress& progress,
                                           std::shared_ptr<CompactionGuard> guard);

// The number in the mark's name, or 0 for any other file.
uint64_t log_mark_of(std::string_view name);

// Gives the mark in a database's directory another number; a copy has none, and gets none.
rocksdb::IOStatus move_log_mark(rocksdb::FileSystem& fs, const std::string& db_path,
                                uint64_t number);

// What is shown of a database's directory that is only read.
struct View {
  bool has_logs = true;  // Whether there are any log files.
  // Files that end earlier than they do, and those that are not there; by name.
  std::map<std::string, uint64_t> ends = {};
  std::set<std::string> hidden = {};
};

// In this one the directory is as the view says, and nothing can be changed.
std::unique_ptr<rocksdb::Env> make_view_env(rocksdb::Env* base, View view);

}  // namespace perennial::store
