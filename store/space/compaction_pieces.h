#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Included by store's own files only.
namespace perennial::store {

// What is known of a table without reading its rows.
struct TableSpan {
  int level = 0;
  std::string smallest;  // Keys.
  std::string largest;
  uint64_t bytes = 0;
  uint64_t tombstones = 0;
};

struct KeyRange {
  std::string first;
  std::string last;  // Within it.

  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// The parts of a family that have tombstones in them, from the first key on, each with about so
// many bytes of tables below level 0. Where there is little room they are compacted one by one:
// each gives back its room before the next, and what has no tombstones is not rewritten.
std::vector<KeyRange> pieces_to_compact(std::vector<TableSpan> tables, uint64_t piece_bytes);

}  // namespace perennial::store
