#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"
#include "store/format/format.h"

// What RocksDB's MANIFEST says of families and log files. Included by store's own files only.
namespace perennial::store {

// Where a MANIFEST stops to be readable.
struct ManifestDamage {
  uint64_t offset = 0;  // The end of the last whole record before it.
  uint64_t bytes = 0;   // From there to the end of the file.
  std::string problem;
};

// Numbers of log files: of one that is there, or of none, where a start set it to one more than
// that of the last log that it had replayed.
struct Manifest {
  std::string name;
  uint64_t min_log = 0;    // RocksDB replays no log file below it.
  uint64_t next_file = 0;  // Every file that it knows is below.
  // By a family's number: what it holds of log files below this one is in its tables. None where no
  // record says so.
  std::map<uint32_t, std::optional<uint64_t>> flushed_to = {{0, std::nullopt}};
  std::map<uint32_t, std::string> names = {{0, "default"}};  // By the same.
  std::optional<ManifestDamage> damage;                      // All else is what stands before it.

  // RocksDB deletes no log from here on.
  uint64_t needed_from() const;
  // Whether it says so much that the log can be judged by it, families aside.
  bool says_enough() const;
  bool names_all(FamilyNames families) const;
  // Log files below it were synced before it was named.
  uint64_t named_max() const;
};

// Reads the MANIFEST that CURRENT names, up to its end or its first damage.
Result<Manifest> read_manifest(rocksdb::FileSystem& fs, const std::string& db_path);

}  // namespace perennial::store
