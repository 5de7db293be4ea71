#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>

#include "engine/types/check.h"
#include "store/batch/batch.h"
#include "store/format/format.h"
#include "store/store.h"

namespace perennial::store {

// The database of a data directory, opened with RocksDB alone. Tests use it for changes that a
// store never makes. The destructor leaves all rows in tables: the log holds only what a store
// writes.
class RawDb {
 public:
  explicit RawDb(const std::string& data_dir);
  ~RawDb();
  RawDb(const RawDb&) = delete;
  RawDb& operator=(const RawDb&) = delete;

  void put(Family family, std::string_view key, std::string_view value);
  void single_delete(Family family, std::string_view key);
  void remove(Family family, std::string_view key);
  void flush();
  void add_family(const std::string& name);
  // Moves the rows of the family from `first` to `last` to the lowest level. They are in a table of
  // their own if no other row lies between them.
  void compact(Family family, std::string_view first, std::string_view last);
  // Returns the path of a table of the family.
  std::string table_of(Family family);
  // Returns the path of the family's table that begins with this key.
  std::string table_from(Family family, std::string_view first);

 private:
  rocksdb::ColumnFamilyHandle* find(Family family);

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

// Job 1 in tube 1, with the body "hello".
inline void make_store(const std::string& path) {
  const auto store = Store::open({.data_dir = path});
  CHECK(store.ok());
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  const JobRow row = {.id = 1, .tube = 1, .ttr_s = 1, .body_bytes = 5};
  batch.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true}, "hello");
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  CHECK((*store)->write(batch, true).ok());
}

}  // namespace perennial::store
