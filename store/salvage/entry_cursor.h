#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/utilities/debug.h>

#include "engine/types/status.h"
#include "store/format/format.h"

// Included by store's own files only.
namespace perennial::store {

class Database;

// Keys from `first` on and not past `last`. Empty: no bound.
struct KeySpan {
  std::string first = {};
  std::string last = {};
};

// Returns the key that follows in the order of bytes.
std::string key_after(std::string_view key);

// Reads the entries of a family in the order of keys, with those that newer entries hide: the
// newest entry of a key is first. It holds a bounded number of entries. An iterator of RocksDB
// would show neither removed rows nor what comes behind a damaged block.
class EntryCursor {
 public:
  using Entry = rocksdb::KeyVersion;

  // Passes over everything outside of `spans`, which ascend. REQUIRES: `db` has the family.
  EntryCursor(const Database& db, Family family, std::vector<KeySpan> spans);

  // Returns the next entry, or null at the end. After null, status() says whether it was the end.
  Entry* peek();
  void pop() { ++position_; }
  const Status& status() const { return status_; }

 private:
  bool fill();
  void check_end(std::string_view last);
  void fit_batch();

  const Database& db_;  // It outlives this.
  const Family family_;
  const std::vector<KeySpan> spans_;
  size_t span_ = 0;
  std::string from_;
  size_t batch_entries_max_;
  std::vector<Entry> batch_;
  size_t position_ = 0;
  Status status_;
};

}  // namespace perennial::store
