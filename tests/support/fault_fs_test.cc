#include "tests/support/fault_fs.h"

#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace perennial::support {
namespace {

using rocksdb::IOStatus;
using File = std::unique_ptr<rocksdb::FSWritableFile>;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file.is_open() ? text.str() : "(none)";
}

// A directory in memory under a fault file system.
class FaultFsTest : public testing::Test {
 protected:
  FaultFsTest() { std::filesystem::create_directory(graves()); }

  std::string path(const std::string& name) const { return dir_.path() + "/" + name; }
  std::string graves() const { return path("graves"); }
  File create(const std::string& name) {
    File file;
    EXPECT_TRUE(fs_.NewWritableFile(path(name), {}, &file, nullptr).ok());
    return file;
  }
  void write(const std::string& name, const std::string& bytes) {
    const File file = create(name);
    EXPECT_TRUE(file->Append(bytes, {}, nullptr).ok());
    EXPECT_TRUE(file->Sync({}, nullptr).ok());
  }
  void sync_dir() {
    std::unique_ptr<rocksdb::FSDirectory> dir;
    EXPECT_TRUE(fs_.NewDirectory(dir_.path(), {}, &dir, nullptr).ok());
    EXPECT_TRUE(dir->FsyncWithDirOptions({}, nullptr, {}).ok());
  }

  const TempDir dir_{"/dev/shm"};
  FaultFs fs_{rocksdb::FileSystem::Default()};
};

// Makes one call of this kind and returns its status.
IOStatus make_call(Call kind, FaultFs& fs, const std::string& dir) {
  const std::string path = dir + "/file";
  File file;
  if (kind == Call::Create) return fs.NewWritableFile(path, {}, &file, nullptr);
  if (kind == Call::FreeSpace) {
    uint64_t bytes = 0;
    return fs.GetFreeSpace(dir, {}, &bytes, nullptr);
  }
  if (kind == Call::DirSync) {
    std::unique_ptr<rocksdb::FSDirectory> opened;
    EXPECT_TRUE(fs.NewDirectory(dir, {}, &opened, nullptr).ok());
    return opened->FsyncWithDirOptions({}, nullptr, {});
  }
  EXPECT_TRUE(fs.NewWritableFile(path, {}, &file, nullptr).ok());
  switch (kind) {
    case Call::Append:
      return file->Append("bytes", {}, nullptr);
    case Call::Sync:
      return file->Sync({}, nullptr);
    case Call::Fsync:
      return file->Fsync({}, nullptr);
    case Call::RangeSync:
      return file->RangeSync(0, 0, {}, nullptr);
    case Call::Close:
      return file->Close({}, nullptr);
    case Call::Rename:
      return fs.RenameFile(path, path + "2", {}, nullptr);
    case Call::Delete:
      return fs.DeleteFile(path, {}, nullptr);
    default: {
      std::unique_ptr<rocksdb::FSRandomAccessFile> opened;
      IOStatus status = fs.NewRandomAccessFile(path, {}, &opened, nullptr);
      if (kind == Call::Open || !status.ok()) return status;
      rocksdb::Slice result;
      char byte = 0;
      return opened->Read(0, 1, {}, &result, &byte, nullptr);
    }
  }
}

TEST_F(FaultFsTest, FailsTheNthCallOfEachKindOnce) {
  for (size_t i = 0; i < call_kinds; ++i) {
    const auto kind = static_cast<Call>(i);
    FaultFs fs(rocksdb::FileSystem::Default());
    fs.fail_nth(1, IOStatus::NoSpace("injected"), kind);
    EXPECT_TRUE(make_call(kind, fs, dir_.path()).ok()) << "kind " << i;
    EXPECT_FALSE(fs.fired());
    EXPECT_TRUE(make_call(kind, fs, dir_.path()).IsNoSpace()) << "kind " << i;
    EXPECT_TRUE(fs.fired());
    EXPECT_TRUE(make_call(kind, fs, dir_.path()).ok()) << "kind " << i;
  }
}

TEST_F(FaultFsTest, AFailedAppendWritesAPart) {
  const File file = create("log");
  fs_.fail_nth(1, IOStatus::NoSpace("injected"), Call::Append, true);
  EXPECT_TRUE(file->Append("first", {}, nullptr).ok());
  EXPECT_TRUE(file->Append("second", {}, nullptr).IsNoSpace());
  EXPECT_EQ(content(path("log")), "firstsec");
}

TEST_F(FaultFsTest, PowerLossRemovesUnsyncedBytes) {
  for (const Loss loss : {Loss::Whole, Loss::Prefix, Loss::Torn}) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      FaultFs fs(rocksdb::FileSystem::Default());
      File file;
      ASSERT_TRUE(fs.NewWritableFile(path("log"), {}, &file, nullptr).ok());
      const std::string safe(700, 's');
      const std::string rest(3000, 'r');
      ASSERT_TRUE(file->Append(safe, {}, nullptr).ok());
      ASSERT_TRUE(file->Sync({}, nullptr).ok());
      ASSERT_TRUE(file->Append(rest, {}, nullptr).ok());
      fs.lose_power(loss, seed);
      EXPECT_FALSE(file->Append("more", {}, nullptr).ok());
      const std::string left = content(path("log"));
      ASSERT_EQ(left.substr(0, safe.size()), safe);
      ASSERT_LE(left.size(), safe.size() + rest.size());
      if (loss == Loss::Whole) {
        ASSERT_EQ(left, safe);
      }
      if (loss == Loss::Prefix) {
        ASSERT_EQ(left, (safe + rest).substr(0, left.size()));
      }
    }
  }
}

// The same seed leaves the same bytes, and some seed keeps a sector after a lost one.
TEST_F(FaultFsTest, TearsBySectorsAndRepeatably) {
  const auto torn = [this](uint64_t seed) {
    FaultFs fs(rocksdb::FileSystem::Default());
    File file;
    EXPECT_TRUE(fs.NewWritableFile(path("log"), {}, &file, nullptr).ok());
    EXPECT_TRUE(file->Append(std::string(8192, 'r'), {}, nullptr).ok());
    fs.lose_power(Loss::Torn, seed);
    return content(path("log"));
  };
  bool has_hole = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string left = torn(seed);
    EXPECT_EQ(left, torn(seed));
    const size_t lost = left.find_first_not_of('r');
    has_hole = has_hole || (lost != std::string::npos &&
                            left.find(std::string(512, 'r'), lost) != std::string::npos);
    if (lost != std::string::npos) {
      EXPECT_EQ(lost % 512, 0U);
    }
  }
  EXPECT_TRUE(has_hole);
}

TEST_F(FaultFsTest, ForgetsEntriesOfADirectoryThatWasNotSynced) {
  fs_.forget_entries(graves());
  write("kept", "kept");
  write("gone", "gone");
  write("old", "old");
  sync_dir();
  write("new", "new");
  ASSERT_TRUE(fs_.DeleteFile(path("gone"), {}, nullptr).ok());
  ASSERT_TRUE(fs_.RenameFile(path("new"), path("old"), {}, nullptr).ok());
  ASSERT_TRUE(fs_.RenameFile(path("kept"), path("moved"), {}, nullptr).ok());
  EXPECT_EQ(content(path("old")), "new");
  fs_.lose_power();
  EXPECT_EQ(content(path("gone")), "gone");
  EXPECT_EQ(content(path("old")), "old");
  EXPECT_EQ(content(path("new")), "(none)");
  EXPECT_EQ(content(path("kept")), "kept");
  EXPECT_EQ(content(path("moved")), "(none)");
}

TEST_F(FaultFsTest, KeepsEntriesOfADirectoryThatWasSynced) {
  fs_.forget_entries(graves());
  write("new", "new");
  ASSERT_TRUE(fs_.RenameFile(path("new"), path("moved"), {}, nullptr).ok());
  write("gone", "gone");
  ASSERT_TRUE(fs_.DeleteFile(path("gone"), {}, nullptr).ok());
  sync_dir();
  fs_.lose_power();
  EXPECT_EQ(content(path("moved")), "new");
  EXPECT_EQ(content(path("gone")), "(none)");
  EXPECT_TRUE(std::filesystem::is_empty(graves()));
}

TEST_F(FaultFsTest, ALyingSyncKeepsNothing) {
  fs_.lie_about_syncs("log");
  write("log", "bytes");
  fs_.lose_power();
  EXPECT_EQ(content(path("log")), "");
}

TEST_F(FaultFsTest, ASyncWaitsForItsHook) {
  std::vector<std::string> synced;
  fs_.set_sync_hook([&synced](const std::string& file) { synced.push_back(file); });
  write("log", "bytes");
  EXPECT_EQ(synced, std::vector<std::string>{path("log")});
}

TEST_F(FaultFsTest, TracesEachCall) {
  fs_.trace_to(path("trace"));
  fs_.fail_nth(1, IOStatus::IOError("injected"), Call::Append);
  const File file = create("log");
  EXPECT_TRUE(file->Append("12345", {}, nullptr).ok());
  EXPECT_FALSE(file->Append("67", {}, nullptr).ok());
  EXPECT_TRUE(file->Sync({}, nullptr).ok());
  EXPECT_EQ(content(path("trace")),
            "1 create log 0 ok\n2 append log 5 ok\n3 append log 2 IO error: injected\n"
            "4 sync log 0 ok\n");
}

}  // namespace
}  // namespace perennial::support
