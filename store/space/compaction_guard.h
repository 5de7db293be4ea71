#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <rocksdb/file_system.h>

#include "store/types/options.h"

// Included by store's own files only.
namespace perennial::store {

// Keeps compactions from using the free space that the log, the flushes and the next start need.
// How much a compaction writes is known only when it has ended. RocksDB therefore assumes the worst
// case and does not begin one that reads more than is free. That is rejected here, because a disk
// full of deleted jobs would then never be compacted. A compaction may begin, and the guard stops
// it with NoSpace before it leaves too little. Nothing is lost: RocksDB keeps the inputs until a
// compaction is complete, and removes the outputs of one that failed.
//
// The guard counts the bytes of the log and knows the tables that compactions write. The store,
// the file system and the listener of the database call it. All functions are thread-safe.
class CompactionGuard {
 public:
  // REQUIRES: fit_to_disk().
  explicit CompactionGuard(const Options& options) : options_(options) {}

  // The bytes that must stay free: what a start needs to replay the log that there will soon be.
  uint64_t reserve_bytes() const;
  // Whether reserve_bytes() stay free after a compaction has written so many more bytes, and the
  // files that a start needs.
  bool has_space_for(uint64_t bytes) const;

  void on_written(uint64_t bytes) { written_bytes_ += bytes; }
  void on_log_begun(uint64_t number);
  void on_log_removed(uint64_t number);
  // The bytes of the log files that were begun since the database was opened. RocksDB flushes and
  // removes the older ones while it opens.
  uint64_t log_bytes() const;

  // A compaction is about to create the table at `path`.
  void on_output(const std::string& path);
  // Wraps a table that was just created. If on_output() announced it, its writes fail with NoSpace
  // before they leave too little free space.
  std::unique_ptr<rocksdb::FSWritableFile> watch(std::unique_ptr<rocksdb::FSWritableFile>&& table,
                                                 const std::string& path);
  // A number that changes whenever the log or a table is written, and whenever a table is synced.
  uint64_t progress() const { return written_bytes_ + table_calls_; }
  void on_table_call() { ++table_calls_; }

 private:
  bool takes_output(const std::string& path);

  const Options& options_;  // The store's, which outlives its database.
  std::atomic<uint64_t> written_bytes_ = 0;
  std::atomic<uint64_t> table_calls_ = 0;
  mutable std::mutex
      mutex_;  // Guards the members below: several threads of RocksDB call the guard.
  std::map<uint64_t, uint64_t> logs_;  // By file number: written_bytes_ when the file was begun.
  std::set<std::string> outputs_;      // Announced by on_output(), and not created yet.
};

// A compaction that reads no more than this always runs. Flushes write small tables while space is
// scarce, and these must not pile up at level 0.
inline constexpr uint64_t small_compaction_bytes = 1 << 20;

// The message of the status with which the guard stops a compaction.
inline constexpr const char* too_little_space = "a compaction would leave too little room";
// Whether `status` is that of a compaction that the guard has stopped. The message is compared, and
// not the code NoSpace alone: RocksDB 7.8 also reports a MANIFEST that could not be synced as an
// error of the compaction. It then removes the compaction's tables although the MANIFEST may name
// them, so that case must end the process.
bool is_stopped_compaction(const rocksdb::Status& status);

}  // namespace perennial::store
