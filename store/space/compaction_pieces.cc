#include "store/space/compaction_pieces.h"

#include <algorithm>
#include <utility>

namespace perennial::store {
namespace {

// Each piece ends at the last key of a table, so that no table is compacted twice without need.
std::vector<CompactionPiece> split(const std::vector<TableSpan>& by_largest, uint64_t piece_bytes) {
  std::vector<CompactionPiece> pieces;
  std::string first = std::ranges::min(by_largest, {}, &TableSpan::smallest).smallest;
  uint64_t bytes = 0;
  for (const TableSpan& table : by_largest) {
    if (table.level > 0) bytes += table.bytes;
    if (bytes < piece_bytes) continue;
    pieces.push_back({.first = std::exchange(first, table.largest + '\0'), .last = table.largest});
    bytes = 0;
  }
  const std::string& last = by_largest.back().largest;
  if (first <= last) pieces.push_back({.first = std::move(first), .last = last});
  return pieces;
}

}  // namespace

std::vector<CompactionPiece> pieces_to_compact(std::vector<TableSpan> tables,
                                               uint64_t piece_bytes) {
  if (tables.empty()) return {};
  std::ranges::sort(tables, {}, &TableSpan::largest);
  std::vector<CompactionPiece> pieces = split(tables, piece_bytes);
  const auto has_tombstones = [&tables](const CompactionPiece& piece) {
    return std::ranges::any_of(tables, [&piece](const TableSpan& table) {
      return table.tombstones > 0 && table.smallest <= piece.last && piece.first <= table.largest;
    });
  };
  std::erase_if(pieces, [&](const CompactionPiece& piece) { return !has_tombstones(piece); });
  return pieces;
}

}  // namespace perennial::store
