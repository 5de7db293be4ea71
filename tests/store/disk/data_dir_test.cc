#include "store/disk/data_dir.h"

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

Status open_status(const std::string& path) {
  Result<std::unique_ptr<Store>> store = Store::open({.data_dir = path});
  return store.ok() ? Status() : store.take_status();
}

void make_store(const std::string& path) {
  ASSERT_TRUE(open_status(path).ok());
}

struct DirCase {
  const char* name;
  std::function<void(const std::string& path)> prepare;
  StatusCode want;
  const char* message;  // A part of the message.
};

void PrintTo(const DirCase& dir, std::ostream* out) {
  *out << dir.name;
}

class DataDirTest : public testing::TestWithParam<DirCase> {};

TEST_P(DataDirTest, IsClassified) {
  const TempDir dir;
  GetParam().prepare(dir.data_dir());
  const Status status = open_status(dir.data_dir());
  EXPECT_EQ(status.code(), GetParam().want) << status.message();
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

// Makes a directory with one file in it.
std::function<void(const std::string&)> holding(const char* name) {
  return [=](const std::string& path) {
    fs::create_directory(path);
    write_file(path + "/" + name, "something");
  };
}

// Makes what a crash leaves while the database is made for the first time.
void create_partially(const std::string& path) {
  make_store(path);
  fs::rename(path + "/db", path + "/db.new");
  fs::remove(path + "/db.new/CURRENT");
  fs::remove(path + "/durable");
}

void remove_db(const std::string& path) {
  make_store(path);
  fs::create_directory(path + "/checkpoints");
  fs::remove_all(path + "/db");
}

INSTANTIATE_TEST_SUITE_P(
    Store, DataDirTest,
    testing::Values(
        DirCase{"Missing", [](const std::string&) {}, StatusCode::Ok, ""},
        DirCase{"Empty", [](const std::string& path) { fs::create_directory(path); },
                StatusCode::Ok, ""},
        DirCase{"Ours", make_store, StatusCode::Ok, ""},
        DirCase{"PartiallyCreated", create_partially, StatusCode::Ok, ""},
        DirCase{"OnlyADurableMark", holding("durable"), StatusCode::Corruption,
                "holds durable but no db"},
        DirCase{"OnlyALock", holding("lock"), StatusCode::Ok, ""},
        DirCase{"SomebodyElses", holding("notes.txt"), StatusCode::Corruption,
                "is not a data directory of perennial: it holds notes.txt"},
        DirCase{"Beanstalkds", holding("binlog.1"), StatusCode::Corruption,
                "perennial import-binlog"},
        DirCase{"NotADirectory", [](const std::string& path) { write_file(path, "something"); },
                StatusCode::Io, "Not a directory"},
        DirCase{"WithoutItsParent",
                [](const std::string& path) { fs::remove(fs::path(path).parent_path()); },
                StatusCode::Io, "No such file or directory"},
        DirCase{"WithoutItsDb", remove_db, StatusCode::Corruption, "its database is gone"}),
    [](const auto& one) { return one.param.name; });

TEST(DataDir, AForeignDirectoryIsNotChanged) {
  const TempDir dir;
  holding("binlog.1")(dir.data_dir());
  ASSERT_FALSE(open_status(dir.data_dir()).ok());
  for (const auto& entry : fs::directory_iterator(dir.data_dir())) {
    EXPECT_EQ(entry.path().filename(), "binlog.1");
  }
}

TEST(DataDir, APathMayEndInASlash) {
  const TempDir dir;
  EXPECT_TRUE(open_status(dir.data_dir() + "/").ok());
  EXPECT_TRUE(fs::exists(dir.data_dir() + "/db/CURRENT"));
}

TEST(DataDir, IsLockedByAnotherProcess) {
  const TempDir dir;
  std::array<int, 2> ready = {};
  std::array<int, 2> done = {};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(done.data()), 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    ::close(done[1]);
    const Result<DataDir> locked = DataDir::open(dir.data_dir());
    if (!locked.ok() || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    // The child holds the lock until the parent closes its end.
    ::_exit(::read(done[0], &byte, 1) == 0 ? 0 : 1);
  }
  ::close(ready[1]);
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const Status status = open_status(dir.data_dir());
  EXPECT_EQ(status.code(), StatusCode::Locked);
  EXPECT_NE(status.message().find(dir.data_dir()), std::string::npos) << status.message();
  ::close(done[1]);
  int exit_status = 0;
  ASSERT_EQ(::waitpid(child, &exit_status, 0), child);
  EXPECT_EQ(exit_status, 0);
  EXPECT_TRUE(open_status(dir.data_dir()).ok());
  ::close(ready[0]);
  ::close(done[0]);
}

// The child runs as nobody, because root may read every directory.
TEST(DataDir, IsUnreadable) {
  const TempDir dir;
  make_store(dir.data_dir());
  fs::permissions(dir.path(), fs::perms::all);
  fs::permissions(dir.data_dir(), fs::perms::none);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(100);
    const Result<DataDir> opened = DataDir::open(dir.data_dir());
    ::_exit(opened.ok() ? 101 : static_cast<int>(opened.status().code()));
  }
  int exit_status = 0;
  ASSERT_EQ(::waitpid(child, &exit_status, 0), child);
  fs::permissions(dir.data_dir(), fs::perms::owner_all);
  EXPECT_EQ(WEXITSTATUS(exit_status), static_cast<int>(StatusCode::Io));
}

TEST(DataDir, NeedsFreeSpace) {
  const TempDir dir;
  const auto fault_fs = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fault_fs);
  const Options options = {.data_dir = dir.data_dir(), .open_bytes_min = 1000, .env = env.get()};
  fault_fs->set_free_bytes(999);
  const auto refused = Store::open(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::NoSpace);
  EXPECT_NE(refused.status().message().find("999 bytes are free, and a start needs 1000"),
            std::string::npos)
      << refused.status().message();
  fault_fs->set_free_bytes(1000);
  EXPECT_TRUE(Store::open(options).ok());
}

}  // namespace
}  // namespace perennial::store
