#include "store/rocks/rocksdb_versions.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

// The changed calls of RocksDB, as three of its versions declare them. Each notes that it was
// called.
struct Opened {
  std::string by;
};
using Handles = std::vector<int>;

struct Db78 : Opened {
  static bool Open(const std::string& name, Handles* handles, Db78** db) {
    handles->push_back(1);
    *db = name.empty() ? nullptr : new Db78{{"raw"}};
    return !name.empty();
  }
  static bool OpenForReadOnly(const std::string& name, Handles* handles, Db78** db,
                              bool /*error_if_wal_file_exists*/ = false) {
    return Open(name, handles, db);
  }
};

struct Db911 : Opened {
  static bool Open(const std::string& /*name*/, Handles* handles, std::unique_ptr<Db911>* db) {
    handles->push_back(1);
    *db = std::make_unique<Db911>(Db911{{"unique"}});
    return true;
  }
  static bool OpenForReadOnly(const std::string& name, Handles* handles, std::unique_ptr<Db911>* db,
                              bool /*error_if_wal_file_exists*/ = false) {
    return Open(name, handles, db);
  }
  [[deprecated]] static bool Open(const std::string& name, Handles* handles, Db911** db);
  [[deprecated]] static bool OpenForReadOnly(const std::string& name, Handles* handles, Db911** db,
                                             bool error_if_wal_file_exists = false);
};

struct Db110 : Opened {
  static bool Open(const std::string& /*name*/, Handles* handles, std::unique_ptr<Db110>* db) {
    handles->push_back(1);
    *db = std::make_unique<Db110>(Db110{{"unique"}});
    return true;
  }
  static bool OpenForReadOnly(const std::string& name, Handles* handles, std::unique_ptr<Db110>* db,
                              bool /*error_if_wal_file_exists*/ = false) {
    return Open(name, handles, db);
  }
};

template <typename Db>
void expect_opened_by(const std::string& by) {
  Handles handles;
  std::unique_ptr<Db> db;
  ASSERT_TRUE(open_db(db, std::string("name"), &handles));
  EXPECT_EQ(db->by, by);
  db.reset();
  ASSERT_TRUE(open_db_for_read_only(db, std::string("name"), &handles));
  EXPECT_EQ(db->by, by);
  EXPECT_EQ(handles.size(), 2u);
}

TEST(RocksdbVersions, EachVersionIsOpenedWithItsOwnCall) {
  expect_opened_by<Db78>("raw");
  expect_opened_by<Db911>("unique");
  expect_opened_by<Db110>("unique");
}

TEST(RocksdbVersions, AFailedOpenReturnsNoDatabase) {
  Handles handles;
  std::unique_ptr<Db78> db;
  EXPECT_FALSE(open_db(db, std::string(), &handles));
  EXPECT_EQ(db, nullptr);
}

TEST(RocksdbVersions, TheOptionIsSetIfItExists) {
  struct {
    bool fail_if_options_file_error = false;
  } with;
  fail_if_options_file_error(with);
  EXPECT_TRUE(with.fail_if_options_file_error);
  struct {
  } without;
  fail_if_options_file_error(without);
}

}  // namespace
}  // namespace perennial::store
