#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <rocksdb/file_system.h>

// Records that are in the log twice. Included by store's own files only.
namespace perennial::store {

// A log file that is there under two numbers has them, and so has a log file of another database.
// RocksDB aborts the process when it replays a second record with the sequence number of another. A
// start never comes to that, because the second one does not join history. Whoever reads all
// records of a log that a start refuses must leave the repetition out.
struct RepeatedRecords {
  // By name: the files that must seem to end at this byte, where the first repetition begins.
  std::map<std::string, uint64_t> ends;
  std::string problem;  // What is left out; empty: nothing is repeated.
};

// Reads all log files with at least this number, oldest first. A file that cannot be read ends
// where it cannot be read, as it does for RocksDB.
RepeatedRecords find_repeated_records(rocksdb::FileSystem& fs, const std::string& db_path,
                                      uint64_t number_min);

}  // namespace perennial::store
