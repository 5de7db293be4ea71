#include "store/salvage/table_probe.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <rocksdb/db.h>

#include "store/rocks/database.h"
#include "store/salvage/entry_cursor.h"

namespace perennial::store {
namespace {

// Keys of one width, as big-endian numbers, which sort as the keys do.
std::string padded(std::string_view key, size_t width) {
  std::string out(key);
  out.resize(std::max(width, out.size()), '\0');
  return out;
}

// Returns half of the sum. REQUIRES: both have the same width.
std::string middle(std::string_view low, std::string_view high) {
  std::string out(low.size(), '\0');
  unsigned sum = 0;
  for (size_t i = low.size(); i-- > 0;) {  // The sum, without its highest bit.
    sum += static_cast<uint8_t>(low[i]) + static_cast<uint8_t>(high[i]);
    out[i] = static_cast<char>(sum & 0xff);
    sum >>= 8;
  }
  unsigned rest = sum;
  for (char& byte : out) {
    const unsigned value = rest << 8 | static_cast<uint8_t>(byte);
    byte = static_cast<char>(value >> 1);
    rest = value & 1;
  }
  return out;
}

class Probe {
 public:
  Probe(const TableBounds& bounds, OpenedTable& table)
      : bounds_(bounds),
        table_(table),
        db_(*table.db),
        // One byte more than the longest key, because key_after() adds one.
        width_(keys_are_ids() ? 9 : table_key_bytes_max + 1) {}

  void run() {
    count_entries();
    std::string from = bounds_.first_key;
    while (from <= bounds_.last_key) {
      const std::string last = read(from);
      if (last == bounds_.last_key) return;
      const std::string begin = last.empty() ? from : key_after(last);
      if (is_past_all(begin)) return;
      const std::optional<std::string> next = next_block(begin);
      // The index may say that a key behind the last one of a block still belongs to that block,
      // which was read.
      const bool was_read = !last.empty() && place_of_block(begin) == place_of_block(last);
      if (!was_read || !next) pass_over(begin, next);
      if (!next) return;
      from = *next;
    }
  }

 private:
  bool keys_are_ids() const {
    const Family family = table_.found.family;
    return family == Family::Ended || std::ranges::count(job_families, family) > 0;
  }

  void count_entries() {
    rocksdb::TablePropertiesCollection tables;
    if (!db_->GetPropertiesOfAllTables(db_.family(table_.found.family), &tables).ok()) return;
    for (const auto& [name, properties] : tables) {
      table_.found.entries += properties->num_entries;
      data_bytes_ = properties->data_size;
    }
  }

  // Reads until the end or a damaged block, and returns the last key; empty if there is none.
  std::string read(const std::string& from) {
    std::string last;
    EntryCursor entries(db_, table_.found.family, {{.first = from, .last = bounds_.last_key}});
    for (; entries.peek() != nullptr; entries.pop()) {
      last = std::move(entries.peek()->user_key);
      ++table_.found.entries_read;
    }
    if (!last.empty()) table_.readable.push_back({.first = from, .last = last});
    return last;
  }

  // Returns the place of the block with this key, as RocksDB reckons it.
  uint64_t place_of_block(std::string_view key) const {
    const rocksdb::Range range(slice(bounds_.first_key), slice(key));
    rocksdb::SizeApproximationOptions how;
    how.include_files = true;
    how.include_memtables = false;
    uint64_t bytes = 0;
    const auto asked =
        db_->GetApproximateSizes(how, db_.family(table_.found.family), &range, 1, &bytes);
    return asked.ok() ? bytes : 0;
  }

  // Returns the lowest key behind the block with `key`, or none if that is the last block. Keys are
  // divided as numbers of one width. The lowest number behind the block may have zeros at its end
  // that a lower key behind it has not: a block that ends at 0f has 0f00 behind it, which sorts
  // before 0f0000.
  std::optional<std::string> next_block(std::string_view key) const {
    const size_t width = std::max({width_, key.size(), bounds_.last_key.size()});
    std::string low = padded(key, width);
    std::string high = padded(bounds_.last_key, width);
    const uint64_t place = place_of_block(key);
    if (high <= low || !is_behind(high, place)) return std::nullopt;
    while (true) {
      std::string between = middle(low, high);
      if (between == low) break;
      (is_behind(between, place) ? high : low) = std::move(between);
    }
    std::string_view lowest = high;
    while (lowest.ends_with('\0') && is_behind(lowest.substr(0, lowest.size() - 1), place)) {
      lowest.remove_suffix(1);
    }
    return std::string(lowest);
  }

  bool is_behind(std::string_view key, uint64_t place) const { return place_of_block(key) > place; }

  // Whether the table has no block for this key. That is so for none of a table that the MANIFEST
  // names, but the bounds of others are those of all keys.
  bool is_past_all(std::string_view key) const {
    return !is_behind(key_after(bounds_.last_key), place_of_block(key));
  }

  void pass_over(const std::string& begin, const std::optional<std::string>& next) {
    const std::string end = next ? *next : key_after(bounds_.last_key);
    table_.found.unreadable.push_back(
        {.begin_offset = offset(place_of_block(begin)),
         .end_offset = next ? offset(place_of_block(end)) : data_end(),
         .first_key = begin,
         .end_key = end});
  }

  // RocksDB spreads the bytes behind the data over all blocks.
  uint64_t offset(uint64_t place) const {
    if (data_bytes_ == 0 || bounds_.bytes == 0) return place;
    const double part = static_cast<double>(place) / static_cast<double>(bounds_.bytes);
    return static_cast<uint64_t>(part * static_cast<double>(data_bytes_));
  }
  uint64_t data_end() const { return data_bytes_ == 0 ? bounds_.bytes : data_bytes_; }

  const TableBounds& bounds_;
  OpenedTable& table_;
  const Database& db_;
  const size_t width_;
  uint64_t data_bytes_ = 0;
};

}  // namespace

void probe_table(const TableBounds& bounds, OpenedTable& table) {
  if (table.db != nullptr) Probe(bounds, table).run();
  if (!table.readable.empty()) return;
  table.db.reset();
  table.found.unreadable = {{.begin_offset = 0,
                             .end_offset = bounds.bytes,
                             .first_key = bounds.first_key,
                             .end_key = key_after(bounds.last_key)}};
}

}  // namespace perennial::store
