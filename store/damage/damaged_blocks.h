#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"

// What RocksDB reads in place of damaged blocks. Included by store's own files only.
namespace perennial::store {

// By offset in a table's file: bytes that are read there instead of those on disk.
using Substitutes = std::map<uint64_t, std::string>;

// Returns a block of exactly `bytes` bytes, and what is behind it, that RocksDB accepts in place of
// a damaged one. It has one row: a SingleDelete of `key`. InvalidArgument: the block is too short
// for that. A block without rows is impossible, because RocksDB takes it for damage when it seeks.
Result<std::string> make_substitute(uint64_t bytes, std::string_view key, uint64_t sequence);

// Returns a key for make_substitute(). It lies behind all keys up to `after`, and before all that
// any table of bodies has behind them: bodies have keys of 8 bytes, and this one is longer. So it
// deletes no body. `place` is the number of the block in its table.
std::string key_between(std::string_view after, uint32_t place);

// The substitutes of a database's tables. Thread-safe: RocksDB's threads read, and any thread adds.
class DamagedBlocks {
 public:
  // Adds substitutes to those of a table.
  void add(uint64_t table, Substitutes substitutes);
  // The table was deleted.
  void forget(uint64_t table);
  // Null: the table has none.
  std::shared_ptr<const Substitutes> of(uint64_t table) const;
  bool has(uint64_t table) const { return of(table) != nullptr; }

  // A number of reads of tables on this thread that the disk has failed. RocksDB reports such a
  // failure like one of a write, and only this number tells them apart.
  static uint64_t failed_reads();

  // Makes a file of a table that reads the substitutes. This outlives the file.
  std::unique_ptr<rocksdb::FSRandomAccessFile> wrap(
      uint64_t table, std::unique_ptr<rocksdb::FSRandomAccessFile> file);

 private:
  std::atomic<bool> any_ = false;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Substitutes>> tables_;
};

}  // namespace perennial::store
