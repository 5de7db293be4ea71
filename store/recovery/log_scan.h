#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"
#include "store/format/format.h"

// Reads the log before RocksDB does, and finds where unbroken history ends. Leaving that to one of
// RocksDB's recovery modes is rejected: none of them can distinguish a record that was never
// complete from an acknowledged record that is damaged, and none notices that a whole log file is
// missing. Included by store's own files only.
namespace perennial::store {

// A record is RocksDB's WriteBatch: the sequence number of its first row and the number of rows,
// which are this many bytes, and the rows.
inline constexpr size_t batch_header_bytes = 12;

struct LogFileName {
  uint64_t number = 0;
  std::string name;
};

// What the tables and the MANIFEST say about the beginning of the log.
struct LogStart {
  std::optional<CommitRow> flushed;  // The commit row in the tables; none in a new database.
  // Whether the oldest log file must begin with the row that opens an epoch, because an open has
  // replayed all files before it.
  bool needs_epoch_begin = false;
  // Whether the oldest log file must hold a record if a later one does. It must if it is the file
  // that the MANIFEST needs.
  bool needs_first_file = false;
};

// A place in the log.
struct LogPlace {
  size_t file = 0;      // The index of the file in the list of log files.
  uint64_t offset = 0;  // In that file, in bytes.
};

// A place where a record is damaged or missing.
struct LogDamage {
  LogPlace place;
  std::string problem;
  // Whether it is proven that a missing record was durable.
  bool lost_durable = false;
};

struct LogHistory {
  std::optional<CommitRow> last;    // The last commit row of unbroken history, or of the tables.
  LogPlace end;                     // The end of the last good record; else the log's beginning.
  bool has_records = false;         // Whether there is a good record.
  std::optional<LogDamage> damage;  // The first damage.
  BatchIndex index_max = 0;         // The highest index in any record, also behind the damage.
};

// Returns the log files in a database's directory with at least this number, oldest first.
Result<std::vector<LogFileName>> list_logs(rocksdb::FileSystem& fs, const std::string& db_path,
                                           uint64_t number_min);

// Returns the sequence number of the first record in the log files with at least this number. None:
// they have no whole record.
Result<std::optional<uint64_t>> first_sequence(rocksdb::FileSystem& fs, const std::string& db_path,
                                               uint64_t number_min);

// Returns where the first record is that cannot be read, in words. None: there is none. The end of
// a file may be one that was never complete.
Result<std::optional<std::string>> find_unreadable_record(rocksdb::FileSystem& fs,
                                                          const std::string& db_path,
                                                          const std::vector<LogFileName>& files);

// Reads all files once, in order. Damage is no error: an error means that a file cannot be read.
Result<LogHistory> scan_logs(rocksdb::FileSystem& fs, const std::string& db_path,
                             const std::vector<LogFileName>& files, const LogStart& start);

}  // namespace perennial::store
