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

// Where a MANIFEST stops being readable.
struct ManifestDamage {
  uint64_t offset = 0;  // The end of the last whole record before it.
  uint64_t bytes = 0;   // From there to the end of the file.
  std::string problem;
};

// What a MANIFEST says up to its end, or up to its first damage. A log number in it need not be
// that of an existing file: a start sets it to one more than the number of the last file it has
// replayed.
struct Manifest {
  std::string name;
  uint64_t min_log = 0;    // RocksDB replays no log file with a lower number.
  uint64_t next_file = 0;  // Every file that the MANIFEST knows has a lower number.
  // By the id of a family: the rows of the family in log files with a lower number are in its
  // tables. None: no record has a number for the family.
  std::map<uint32_t, std::optional<uint64_t>> flushed_to = {{0, std::nullopt}};
  // By the id of a family: the newest log file when the family was made, as long as the record of
  // that is in this MANIFEST.
  std::map<uint32_t, uint64_t> made_at = {};
  std::map<uint32_t, std::string> names = {{0, "default"}};  // By the id of a family.
  std::optional<ManifestDamage> damage;                      // The first damage.
  // What is wrong with CURRENT, which this MANIFEST was found without; empty: nothing.
  std::string current_problem = {};

  // "MANIFEST-000012 is damaged at byte 650: ...". REQUIRES: it is damaged.
  std::string damage_text() const;
  // RocksDB deletes no log file with this number or a higher one.
  uint64_t needed_from() const;
  // Whether the log can be judged with it: every family has a number. It may lack whole families.
  bool says_enough() const;
  bool names_all(FamilyNames families) const;
  // RocksDB had synced all log files with lower numbers when it wrote this number.
  uint64_t named_max() const;
};

// Reads the MANIFEST that CURRENT names, up to its end or its first damage. If CURRENT is missing
// or names none, and there is exactly one MANIFEST, it is that one: RocksDB removes an older one
// only when CURRENT names its successor, and a database is not published before it has a CURRENT.
Result<Manifest> read_manifest(rocksdb::FileSystem& fs, const std::string& db_path);

}  // namespace perennial::store
