#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Included by store's own files only.
namespace perennial::store {

// A table of a family, as the MANIFEST names it.
struct ManifestTable {
  uint32_t family = 0;  // The id of the family in the MANIFEST.
  int level = 0;
  uint64_t number = 0;  // Of the file.
};

// A table that the MANIFEST does not name.
struct UnlistedTable {
  uint32_t family = 0;  // The id of the family in the MANIFEST.
  uint64_t number = 0;  // Of the file.
  uint64_t bytes = 0;   // Of the file.
};

struct ManifestChanges {
  bool with_numbers = false;  // It ends before the numbers that RocksDB needs to open anything.
  std::vector<ManifestTable> removed = {};
  const UnlistedTable* added = nullptr;  // With all keys. Null: none.

  bool is_empty() const { return !with_numbers && removed.empty() && added == nullptr; }
};

// Returns records for the end of a MANIFEST of `manifest_bytes` bytes, after which the database has
// these changes. RocksDB wiki, "MANIFEST" and "Write Ahead Log File Format".
std::string manifest_changes(uint64_t manifest_bytes, const ManifestChanges& changes);

}  // namespace perennial::store
