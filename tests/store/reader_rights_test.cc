#include <filesystem>
#include <string>

#include <grp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/reader.h"
#include "tests/store/child.h"
#include "tests/store/dir_state.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// A Reader needs no write permission.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

// Drops root's rights, because root may write everywhere.
void become_nobody() {
  constexpr uid_t nobody = 65534;
  if (::geteuid() != 0) return;
  CHECK(::setgroups(0, nullptr) == 0);
  CHECK(::setgid(nobody) == 0);
  CHECK(::setuid(nobody) == 0);
}

class ReaderRights : public testing::Test {
 protected:
  // The store runs in a child, because the parent must not run RocksDB.
  ReaderRights() {
    const ChildEnd end = run_child([&](const Pipe&) {
      const auto store = Store::open({.data_dir = dir_.data_dir()});
      CHECK(store.ok());
      write(**store, model_);
      ::_exit(0);
    });
    CHECK(end.signal == 0);
    StoreModel same(support::seed());
    for (Batch batch; same.index() < batches;) same.next(batch, 20);
    model_ = same;
  }
  ~ReaderRights() override { give_rights(0700, 0600); }

  static void write(Store& store, StoreModel& model) {
    for (Batch batch; model.index() < batches;) {
      model.next(batch, 20);
      CHECK(store.write(batch, true).ok());
    }
  }
  void give_rights(unsigned dirs, unsigned files) const {
    fs::permissions(dir_.path(), static_cast<fs::perms>(0755));
    fs::permissions(dir_.data_dir(), static_cast<fs::perms>(0700));
    fs::permissions(dir_.data_dir() + "/db", static_cast<fs::perms>(0700));
    for (const auto& entry : fs::recursive_directory_iterator(dir_.data_dir())) {
      if (entry.is_regular_file()) fs::permissions(entry.path(), static_cast<fs::perms>(files));
    }
    fs::permissions(dir_.data_dir() + "/db", static_cast<fs::perms>(dirs));
    fs::permissions(dir_.data_dir(), static_cast<fs::perms>(dirs));
  }
  // Reads the directory as the user nobody. Returns what is wrong; empty if nothing is.
  std::string read_as_nobody() const {
    return run_child([&](const Pipe& pipe) {
             become_nobody();
             const auto reader = Reader::open({.path = dir_.data_dir()});
             const std::string problem =
                 reader.ok() ? difference(**reader, model_.image()) : reader.status().message();
             pipe.send_bytes(problem.data(), problem.size());
           })
        .sent;
  }

  static constexpr BatchIndex batches = 30;
  const TempDir dir_;
  StoreModel model_{support::seed()};
};

TEST_F(ReaderRights, WritePermissionIsNotNeeded) {
  give_rights(0555, 0444);
  const auto before = state_of(dir_.data_dir());
  EXPECT_EQ(read_as_nobody(), "");
  EXPECT_TRUE(before == state_of(dir_.data_dir()));
}

TEST_F(ReaderRights, ReadPermissionOnTheDirectoryIsNeeded) {
  give_rights(0000, 0444);
  EXPECT_EQ(read_as_nobody(), "read directory " + dir_.data_dir() + ": Permission denied");
}

TEST_F(ReaderRights, ReadPermissionOnTheFilesIsNeeded) {
  give_rights(0555, 0000);
  EXPECT_EQ(read_as_nobody(), "open " + dir_.data_dir() + "/lock: Permission denied");
}

}  // namespace
}  // namespace perennial::store
