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

// Keeps compactions from taking the room that the log, the flushes and the next start need. Nobody
// knows how much a compaction will write before it has: one that would leave too little is stopped
// as if the disk were full. That loses nothing, since its inputs stay until it is complete, and
// what it has written is removed. So a compaction may begin wherever it can hope to end.
//
// Knows how much log there is and which tables compactions make: whoever writes, the file system
// and the listener of a database tell it. From any thread.
class CompactionGuard {
 public:
  // REQUIRES: fit_to_disk().
  explicit CompactionGuard(const Options& options) : options_(options) {}

  // So much must stay free: what a start needs that finds the log as it will soon be.
  uint64_t reserve_bytes() const;
  // Whether it does when a compaction writes this much more.
  bool has_room_for(uint64_t bytes) const;

  void on_written(uint64_t bytes) { written_bytes_ += bytes; }
  void on_log_begun(uint64_t number);
  void on_log_removed(uint64_t number);
  // Of log files that were begun since the open: RocksDB removes those before them by itself.
  uint64_t log_bytes() const;

  // A compaction is about to make this table.
  void on_output(const std::string& path);
  // The same table, just made; one of a compaction is stopped before it leaves too little.
  std::unique_ptr<rocksdb::FSWritableFile> watch(std::unique_ptr<rocksdb::FSWritableFile>&& table,
                                                 const std::string& path);
  // Changes whenever something was written to the log or a table, or a table was synced.
  uint64_t progress() const { return written_bytes_ + table_calls_; }
  void on_table_call() { ++table_calls_; }

 private:
  bool takes_output(const std::string& path);

  const Options& options_;  // The store's, which outlives its database.
  std::atomic<uint64_t> written_bytes_ = 0;
  std::atomic<uint64_t> table_calls_ = 0;
  mutable std::mutex mutex_;           // Guards what follows: RocksDB's threads come and go.
  std::map<uint64_t, uint64_t> logs_;  // By number; how much had been written before.
  std::set<std::string> outputs_;
};

// A compaction that reads no more than this may always run: what a flush has written is small where
// room is scarce, and must not pile up at level 0.
inline constexpr uint64_t small_compaction_bytes = 1 << 20;

// What RocksDB is told when a compaction is stopped.
inline constexpr const char* too_little_room = "a compaction would leave too little room";
// Whether it is what a compaction ends with that the guard has stopped. Not whatever else says that
// the disk is full: RocksDB 7.8 reports a MANIFEST that it could not sync as an error of the
// compaction, too, and removes the compaction's tables although that MANIFEST may name them.
bool is_stopped_compaction(const rocksdb::Status& status);

}  // namespace perennial::store
