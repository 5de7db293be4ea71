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
#include "store/format/format.h"

// What RocksDB reads in place of damaged blocks. Included by store's own files only.
namespace perennial::store {

// By offset in a table's file: bytes that are read there instead of those on disk.
using Substitutes = std::map<uint64_t, std::string>;

// Returns a block of exactly `bytes` bytes, and what is behind it, that RocksDB accepts in place of
// a damaged one of the family. It has one row: the deletion of `key`, of the kind that the family's
// rows have (is_overwritten()), because RocksDB takes a SingleDelete beside a Delete for a violated
// contract. InvalidArgument: the block is too short for that. A block without rows is impossible,
// because RocksDB takes it for damage when it seeks.
Result<std::string> make_substitute(Family family, uint64_t bytes, std::string_view key,
                                    uint64_t sequence);

// Returns a key for make_substitute(). It lies behind all keys up to `after`, which may be a key of
// an index, and before all that any table of the family has behind them. It is longer than the keys
// of the family, so it deletes no row. `place` is the number of the block in its table.
std::string key_between(Family family, std::string_view after, uint32_t place);

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

// Which errors of RocksDB mean that a table could not be read: it is damaged, or the disk cannot
// read a part of it. Any other error of the system is none of a table. It speaks of the reads of
// this thread since it was made.
class TableErrors {
 public:
  bool contains(const rocksdb::Status& status) const {
    return status.IsCorruption() ||
           (status.IsIOError() && DamagedBlocks::failed_reads() > failed_before_);
  }

 private:
  uint64_t failed_before_ = DamagedBlocks::failed_reads();
};

}  // namespace perennial::store
