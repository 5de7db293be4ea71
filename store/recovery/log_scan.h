#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"
#include "store/format/format.h"

// Reads the log before RocksDB does, and says where unbroken history ends: RocksDB cannot tell a
// record that was never complete from one that was acknowledged and is gone, and does not notice
// that a whole file is missing. Included by store's own files only.
namespace perennial::store {

struct LogFileName {
  uint64_t number = 0;
  std::string name;
};

// Where history begins: what the tables alone hold.
struct LogStart {
  std::optional<CommitRow> flushed;  // The commit row in the tables; none in a new database.
  // Whether the oldest log file must be the first of its epoch, because all before it were
  // replayed.
  bool needs_epoch_begin = false;
  // Whether the oldest log file must hold a record if a later one does, because it is known that it
  // did.
  bool needs_first_file = false;
};

// A place in the log.
struct LogPlace {
  size_t file = 0;  // Its place among the files.
  uint64_t offset = 0;
};

// A place where history is broken.
struct LogDamage {
  LogPlace place;
  std::string problem;
  // Whether a record behind it proves that what should be there was durable.
  bool lost_durable = false;
};

struct LogHistory {
  std::optional<CommitRow> last;    // Of unbroken history, or what was flushed.
  LogPlace end;                     // Of the last good record; the log's beginning without one.
  std::optional<LogDamage> damage;  // The first.
  BatchIndex index_max = 0;         // The highest that any record names, behind damage too.
};

// The log files in a database's directory, oldest first, from one number on.
Result<std::vector<LogFileName>> list_logs(rocksdb::FileSystem& fs, const std::string& db_path,
                                           uint64_t number_min);

// Reads them all once, in order. Fails only where they cannot be read.
Result<LogHistory> scan_logs(rocksdb::FileSystem& fs, const std::string& db_path,
                             const std::vector<LogFileName>& files, const LogStart& start);

}  // namespace perennial::store
