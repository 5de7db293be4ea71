#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>

#include "engine/types/check.h"
#include "store/batch.h"
#include "store/format.h"
#include "store/store.h"

namespace perennial::store {

// The database as RocksDB sees it, for doing to it what a store never does.
class RawDb {
 public:
  explicit RawDb(const std::string& data_dir) {
    const std::string path = data_dir + "/db";
    std::vector<std::string> names;
    CHECK(rocksdb::DB::ListColumnFamilies({}, path, &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) {
      families.emplace_back(name, rocksdb::ColumnFamilyOptions());
    }
    rocksdb::DB* db = nullptr;
    CHECK(rocksdb::DB::Open({}, path, families, &families_, &db).ok());
    db_.reset(db);
  }
  ~RawDb() {
    // So that what was done is in tables: the log holds only what a store writes.
    CHECK(db_->Flush({}, families_).ok());
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      CHECK(db_->DestroyColumnFamilyHandle(family).ok());
    }
  }

  void put(Family family, std::string_view key, std::string_view value) {
    CHECK(db_->Put({}, find(family), slice(key), slice(value)).ok());
  }
  void single_delete(Family family, std::string_view key) {
    CHECK(db_->SingleDelete({}, find(family), slice(key)).ok());
  }
  void remove(Family family, std::string_view key) {
    CHECK(db_->Delete({}, find(family), slice(key)).ok());
  }
  void add_family(const std::string& name) {
    rocksdb::ColumnFamilyHandle* family = nullptr;
    CHECK(db_->CreateColumnFamily({}, name, &family).ok());
    families_.push_back(family);
  }

 private:
  static rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
  rocksdb::ColumnFamilyHandle* find(Family family) {
    for (rocksdb::ColumnFamilyHandle* handle : families_) {
      if (handle->GetName() == family_names[place_of(family)]) return handle;
    }
    CHECK(!"a family that is not there");
    return nullptr;
  }

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
  batch.seal(1, 0, 1);
  CHECK((*store)->write(batch, true).ok());
}

}  // namespace perennial::store
