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

// Returns records for the end of a MANIFEST of `manifest_bytes` bytes, after which the database
// does not have these tables. RocksDB wiki, "MANIFEST" and "Write Ahead Log File Format".
std::string manifest_deletions(uint64_t manifest_bytes, const std::vector<ManifestTable>& tables);

}  // namespace perennial::store
