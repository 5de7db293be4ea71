#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "store/format/format.h"

namespace perennial::store {

// What RocksDB counts and says of itself, for the metrics.
struct DatabaseFigures {
  // Counters since the start.
  static constexpr std::array<std::string_view, 8> ticker_names = {
      "wal_synced",          "wal_bytes",         "stall_micros",    "compact_read_bytes",
      "compact_write_bytes", "flush_write_bytes", "block_cache_hit", "block_cache_miss"};
  std::array<uint64_t, ticker_names.size()> tickers = {};

  // As RocksDB calls them behind "rocksdb.": of the whole database, and of each family.
  static constexpr std::array<std::string_view, 3> property_names = {
      "background-errors", "is-write-stopped", "actual-delayed-write-rate"};
  std::array<uint64_t, property_names.size()> properties = {};
  static constexpr std::array<std::string_view, 3> family_property_names = {
      "estimate-pending-compaction-bytes", "num-immutable-mem-table", "live-sst-files-size"};
  // In the order of Family.
  using OfFamily = std::array<uint64_t, family_property_names.size()>;
  std::array<OfFamily, family_count> of_families = {};

  uint64_t log_bytes = 0;
  // The tables of a family.
  uint64_t table_bytes(Family family) const {
    return of_families[static_cast<size_t>(family)].back();
  }
};

}  // namespace perennial::store
