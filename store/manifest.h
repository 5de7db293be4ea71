#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"

// What RocksDB's MANIFEST says of log files. Included by store's own files only.
namespace perennial::store {

// Numbers of log files: of one that is there, or of none, where a start set it to one more than
// that of the last log that it had replayed.
struct ManifestLogs {
  std::string name;             // Of the MANIFEST.
  uint64_t needed_from = 0;     // RocksDB deletes no log from here on.
  uint64_t named_max = 0;       // Log files below it were synced before it was named.
  uint64_t next_file = 0;       // Every file that it knows is below.
  std::vector<uint64_t> named;  // By each record that says up to where a family was flushed.
};

// Reads the MANIFEST that CURRENT names. Refuses one that is damaged before its end, which RocksDB
// may take for the end: RocksDB drops without a word what follows a wrong length in the last block.
Result<ManifestLogs> read_manifest(rocksdb::FileSystem& fs, const std::string& db_path);

}  // namespace perennial::store
