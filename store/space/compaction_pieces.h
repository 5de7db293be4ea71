#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Included by store's own files only.
namespace perennial::store {

// What is known of a table without reading its rows.
struct TableSpan {
  int level = 0;
  std::string smallest;  // The first key of the table.
  std::string largest;   // The last key of the table.
  uint64_t bytes = 0;
  uint64_t tombstones = 0;
};

struct CompactionPiece {
  std::string first;
  std::string last;  // Inclusive.

  friend bool operator==(const CompactionPiece&, const CompactionPiece&) = default;
};

// Returns the key ranges of a family that contain tombstones, in key order. Each range covers about
// `piece_bytes` of tables below level 0. When little space is free, the store compacts one range
// after the other. Each compaction then frees space for the next, and ranges without tombstones are
// not rewritten. One compaction of the whole family would need the space of all its tables at once.
std::vector<CompactionPiece> pieces_to_compact(std::vector<TableSpan> tables, uint64_t piece_bytes);

}  // namespace perennial::store
