#include <string>

#include <fmt/format.h>
#include <rocksdb/statistics.h>

#include "store/rocks/database.h"

namespace perennial::store {
namespace {

// In the order of DatabaseFigures::ticker_names.
constexpr std::array<rocksdb::Tickers, DatabaseFigures::ticker_names.size()> tickers = {
    rocksdb::WAL_FILE_SYNCED,    rocksdb::WAL_FILE_BYTES,      rocksdb::STALL_MICROS,
    rocksdb::COMPACT_READ_BYTES, rocksdb::COMPACT_WRITE_BYTES, rocksdb::FLUSH_WRITE_BYTES,
    rocksdb::BLOCK_CACHE_HIT,    rocksdb::BLOCK_CACHE_MISS};

uint64_t property(const Database& db, rocksdb::ColumnFamilyHandle* family, std::string_view name) {
  uint64_t value = 0;
  CHECK(db->GetIntProperty(family, fmt::format("rocksdb.{}", name), &value));
  return value;
}

}  // namespace

DatabaseFigures read_figures(const Database& db) {
  DatabaseFigures figures = {.log_bytes = db.log_bytes()};
  const rocksdb::Statistics& statistics = *db->GetDBOptions().statistics;
  for (size_t i = 0; i < tickers.size(); ++i) {
    figures.tickers[i] = statistics.getTickerCount(tickers[i]);
  }
  for (size_t i = 0; i < figures.properties.size(); ++i) {
    figures.properties[i] =
        property(db, db.family(Family::Meta), DatabaseFigures::property_names[i]);
  }
  for (size_t i = 0; i < family_count; ++i) {
    rocksdb::ColumnFamilyHandle* const family = db.family(static_cast<Family>(i));
    if (family == nullptr) continue;
    for (size_t k = 0; k < DatabaseFigures::family_property_names.size(); ++k) {
      figures.of_families[i][k] = property(db, family, DatabaseFigures::family_property_names[k]);
    }
  }
  return figures;
}

}  // namespace perennial::store
