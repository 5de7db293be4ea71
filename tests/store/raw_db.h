#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>

#include "store/format.h"

namespace perennial::store {

// The database of a data directory as RocksDB sees it, for doing to it what a store never does. At
// the end everything is in tables: the log holds only what a store writes.
class RawDb {
 public:
  explicit RawDb(const std::string& data_dir);
  ~RawDb();
  RawDb(const RawDb&) = delete;
  RawDb& operator=(const RawDb&) = delete;

  void put(Family family, std::string_view key, std::string_view value);
  void single_delete(Family family, std::string_view key);
  void remove(Family family, std::string_view key);
  void add_family(const std::string& name);
  // The path of a table file of the family.
  std::string table_of(Family family);

 private:
  rocksdb::ColumnFamilyHandle* find(Family family);

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

}  // namespace perennial::store
