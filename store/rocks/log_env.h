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

#include "engine/types/status.h"

// File systems between RocksDB and the disk. Included by store's own files only.
namespace perennial::store {

// How far the log files of a database were synced. Thread-safe.
class LogProgress {
 public:
  // A place in the log: a file's number, and how many of its bytes.
  struct Place {
    uint64_t number = 0;
    uint64_t bytes = 0;
    auto operator<=>(const Place&) const = default;  // NOLINT: clang-tidy sees a 0 in it.
  };

  // Notes that a log file was synced up to `place`. An older place changes nothing: RocksDB also
  // syncs log files that it closed long ago.
  void synced(Place place) {
    const std::lock_guard lock(mutex_);
    synced_ = std::max(synced_, place);
  }
  Place synced() const {
    const std::lock_guard lock(mutex_);
    return synced_;
  }

 private:
  mutable std::mutex mutex_;  // A flush syncs log files on one of RocksDB's threads.
  Place synced_;
};

class CompactionGuard;
class DamagedBlocks;

// Makes a file system in which a log file's name is durable before anything is written to the file,
// for the database in the directory `db_path`, named as RocksDB names it. A log file in another
// directory is like any other file: RocksDB makes one in a checkpoint. RocksDB alone names a new
// log in its MANIFEST and deletes the older ones, and syncs the directory only later. A power cut
// between the two would lose the log with everything in it. For the same reason the name of a
// MANIFEST is durable before CURRENT names it. The file system also keeps a mark
// beside the log: an empty file whose name has the number of the newest log file. The MANIFEST
// cannot replace the mark, because it names a log only after a flush.
// `progress` must outlive the result, and receives each sync of a log file. The guard may be null;
// otherwise it is called for each log file, and it watches the tables. `damaged` may be null;
// otherwise it must outlive the result, and tables read what it has in place of damaged blocks.
std::unique_ptr<rocksdb::Env> make_log_env(rocksdb::Env* base, const std::string& db_path,
                                           LogProgress& progress,
                                           std::shared_ptr<CompactionGuard> guard,
                                           DamagedBlocks* damaged = nullptr);

// Returns the number in the name of a mark, or 0 for any other file.
uint64_t log_mark_of(std::string_view name);

// Finds the number of the newest log file of a database, as the mark has it; 0 without a mark, as
// in a checkpoint and in a database that was never opened by a start.
Result<uint64_t> find_newest_log(rocksdb::FileSystem& fs, const std::string& db_path);

// Removes the mark durably, from a database that is made and not yet started. So a database with a
// mark has had a durable mark (disk/durable_mark.h) since before its log was begun.
Status remove_log_mark(rocksdb::FileSystem& fs, const std::string& db_path);

// Renames the mark in a database's directory to another number. A checkpoint has no mark, and none
// is made for it.
rocksdb::IOStatus move_log_mark(rocksdb::FileSystem& fs, const std::string& db_path,
                                uint64_t number);

// How the directory of a database that is only read differs from the one on disk.
struct View {
  bool has_logs = true;                       // False hides all log files.
  std::map<std::string, uint64_t> ends = {};  // By name: files that seem to end at this byte.
  std::set<std::string> hidden = {};          // The names of files that seem not to exist.
  // By name: bytes that seem to follow the content of a file.
  std::map<std::string, std::string> appended = {};
  // Bytes that seem to lie in a table from this offset on, and also beyond its end. Between the two
  // there seem to be zeros, and so where the disk cannot read: the checksum of a block shows it.
  struct Patch {
    uint64_t offset = 0;
    std::string bytes = {};
  };
  std::map<std::string, Patch> patches = {};  // By name.
  // The MANIFEST that CURRENT seems to name; empty: the one that it names.
  std::string current = {};
  // What tables read in place of damaged blocks. It may be null, and outlives the file system.
  DamagedBlocks* damaged = nullptr;
};

// Makes a read-only file system in which the directory is as the view says.
std::unique_ptr<rocksdb::Env> make_view_env(rocksdb::Env* base, View view);

}  // namespace perennial::store
