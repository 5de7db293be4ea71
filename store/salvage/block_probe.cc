#include <string>
#include <string_view>
#include <utility>

#include "store/damage/table_blocks.h"
#include "store/rocks/database.h"
#include "store/salvage/entry_cursor.h"
#include "store/salvage/table_probe.h"

namespace perennial::store {
namespace {

std::string first_of(const BlockRun& run) {
  return std::string(family_key(run.front().first_key));
}

std::string last_of(const BlockRun& run) {
  return std::string(family_key(run.back().last_key));
}

uint64_t end_of(const BlockRun& run) {
  return run.back().offset + run.back().bytes + block_trailer_bytes;
}

// Returns what lies around the runs. Newer entries of a run's first key may lie before it, and so
// that key may be hidden, too. Only older ones of its last key can lie behind it, which count for
// nothing.
std::vector<UnreadableRange> ranges_between(const TableBounds& bounds,
                                            const std::vector<BlockRun>& runs) {
  std::vector<UnreadableRange> out;
  UnreadableRange range;
  range.first_key = bounds.first_key;
  for (const BlockRun& run : runs) {
    range.end_offset = run.front().offset;
    range.end_key = key_after(first_of(run));
    if (range.begin_offset < range.end_offset) out.push_back(range);
    range.begin_offset = end_of(run);
    range.first_key = key_after(last_of(run));
  }
  range.end_offset = place_of_footer(bounds);
  range.end_key = key_after(bounds.last_key);
  const bool is_whole = !runs.empty() && last_of(runs.back()) == bounds.last_key;
  if (!is_whole) out.push_back(std::move(range));
  return out;
}

// Whether RocksDB reads everything that was found. Counts the entries.
bool reads_all(const std::vector<BlockRun>& runs, OpenedTable& table) {
  if (table.db == nullptr || runs.empty()) return false;
  table.readable = {{.first = first_of(runs.front()), .last = last_of(runs.back())}};
  std::string last;
  EntryCursor entries(*table.db, table.found.family, table.readable);
  for (; entries.peek() != nullptr; entries.pop()) {
    last = std::move(entries.peek()->user_key);
    ++table.found.entries_read;
  }
  return entries.status().ok() && last == table.readable.front().last;
}

}  // namespace

uint64_t place_of_footer(const TableBounds& bounds) {
  return bounds.bytes > footer_bytes ? bounds.bytes - footer_bytes : 0;
}

void probe_blocks(const TableBounds& bounds, const std::vector<BlockRun>& runs,
                  OpenedTable& table) {
  if (!reads_all(runs, table)) {
    table.db.reset();
    table.readable.clear();
    table.found.entries_read = 0;
    table.found.unreadable = ranges_between(bounds, {});
    return;
  }
  table.found.unreadable = ranges_between(bounds, runs);
  // How many entries are lost, only the properties would say.
  if (table.found.unreadable.empty()) table.found.entries = table.found.entries_read;
}

}  // namespace perennial::store
