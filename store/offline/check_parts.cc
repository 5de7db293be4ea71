#include "store/offline/check_parts.h"

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/damage/damage_record.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

namespace perennial::store {

JobRows::JobRows(const Database& db) {
  for (size_t place = 0; place < rows_.size(); ++place) {
    rows_[place].reset(db->NewIterator({}, db.family(job_states[place])));
  }
}
JobRows::~JobRows() = default;

std::optional<std::string_view> JobRows::find(size_t place, std::string_view key,
                                              bool& is_unknown) {
  rocksdb::Iterator& row = *rows_[place];
  row.Seek(slice(key));
  if (!row.status().ok()) is_unknown = true;
  if (!row.Valid() || view(row.key()) != key) return std::nullopt;
  return view(row.value());
}

namespace {

// A record that is damaged itself explains nothing.
std::vector<DamagedBlock> known_blocks(const Database& db, const CheckOptions& options) {
  const auto blocks = read_damage_record(options.env, db->GetName());
  return blocks.ok() ? *blocks : std::vector<DamagedBlock>();
}

}  // namespace

DamagedIds known_damage(const Database& db, const CheckOptions& options, Family family) {
  return {known_blocks(db, options), family};
}

DamagedEnded known_damage_of_ended(const Database& db, const CheckOptions& options) {
  return DamagedEnded(known_blocks(db, options));
}

bool check_each_row(const Database& db, Family family, FaultList& faults,
                    const std::function<void(std::string_view, std::string_view)>& check) {
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  how.readahead_size = 2 << 20;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(how, db.family(family)));
  std::string last_key;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    last_key = view(at->key());
    check(last_key, view(at->value()));
  }
  if (at->status().ok()) return true;
  faults.add(family, last_key,
             fmt::format("what is behind this key cannot be read, and was not checked: {}",
                         from_rocksdb(at->status()).message()));
  return false;
}

}  // namespace perennial::store
