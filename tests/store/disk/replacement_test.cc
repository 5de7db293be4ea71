#include "store/disk/replacement.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "store/disk/data_dir.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Replacement : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* const made : {"/db", "/checkpoints", "/incoming/fresh/db", "/peer"}) {
      fs::create_directories(dir_.data_dir() + made);
    }
    write("/db/CURRENT", "old");
    write("/durable", "of the old log");
    write("/incoming/fresh/db/CURRENT", "new");
  }

  void write(const std::string& name, const std::string& text) {
    write_file(dir_.data_dir() + name, text);
  }
  void expect_replaced() {
    EXPECT_EQ(content(dir_.data_dir() + "/db/CURRENT"), "new");
    EXPECT_TRUE(fs::exists(dir_.data_dir() + "/checkpoints"));
    for (const char* const gone : {"/durable", "/incoming", "/replacement", "/peer"}) {
      EXPECT_FALSE(fs::exists(dir_.data_dir() + gone)) << gone;
    }
  }
  // As a process does that starts after a crash.
  void open() {
    const Result<DataDir> dir = DataDir::open(dir_.data_dir());
    ASSERT_TRUE(dir.ok()) << dir.status().message();
    EXPECT_TRUE(dir->has_db());
  }

  const TempDir dir_;
};

TEST_F(Replacement, PutsTheNewDatabaseInPlaceAndKeepsTheRest) {
  const Status done = replace_database(dir_.data_dir(), dir_.data_dir() + "/incoming/fresh");
  ASSERT_TRUE(done.ok()) << done.message();
  expect_replaced();
}

TEST_F(Replacement, ACrashBeforeItLeavesTheOldDatabase) {
  open();
  EXPECT_EQ(content(dir_.data_dir() + "/db/CURRENT"), "old");
  EXPECT_EQ(content(dir_.data_dir() + "/durable"), "of the old log");
  EXPECT_FALSE(fs::exists(dir_.data_dir() + "/incoming"));
}

// Each of these is what a crash leaves between two steps.
TEST_F(Replacement, IsFinishedAfterACrashAtTheBegin) {
  fs::rename(dir_.data_dir() + "/incoming/fresh", dir_.data_dir() + "/replacement");
  open();
  expect_replaced();
}

TEST_F(Replacement, IsFinishedAfterACrashWithoutTheMark) {
  fs::rename(dir_.data_dir() + "/incoming/fresh", dir_.data_dir() + "/replacement");
  fs::remove(dir_.data_dir() + "/durable");
  open();
  expect_replaced();
}

TEST_F(Replacement, IsFinishedAfterACrashWithNoDatabaseInPlace) {
  fs::rename(dir_.data_dir() + "/incoming/fresh", dir_.data_dir() + "/replacement");
  fs::remove(dir_.data_dir() + "/durable");
  fs::rename(dir_.data_dir() + "/db", dir_.data_dir() + "/replacement/old");
  open();
  expect_replaced();
}

TEST_F(Replacement, IsFinishedAfterACrashWithTheOldDatabaseLeft) {
  fs::rename(dir_.data_dir() + "/db", dir_.data_dir() + "/incoming/old");
  fs::rename(dir_.data_dir() + "/incoming/fresh/db", dir_.data_dir() + "/db");
  fs::remove_all(dir_.data_dir() + "/incoming/fresh");
  fs::rename(dir_.data_dir() + "/incoming", dir_.data_dir() + "/replacement");
  fs::remove(dir_.data_dir() + "/durable");
  open();
  expect_replaced();
}

TEST_F(Replacement, OfAnEmptyDirectoryIsItsFirstDatabase) {
  fs::remove_all(dir_.data_dir() + "/db");
  fs::remove(dir_.data_dir() + "/durable");
  const Status done = replace_database(dir_.data_dir(), dir_.data_dir() + "/incoming/fresh");
  ASSERT_TRUE(done.ok()) << done.message();
  expect_replaced();
}

// A repair keeps the damaged database.
class ReplacementAside : public Replacement {
 protected:
  void SetUp() override {
    Replacement::SetUp();
    fs::create_directories(dir_.data_dir() + "/incoming/fresh/damaged-1");
    write("/incoming/fresh/damaged-1/lost-jobs.jsonl", "lost");
  }
  void expect_kept() {
    expect_replaced();
    EXPECT_EQ(content(dir_.data_dir() + "/damaged-1/db/CURRENT"), "old");
    EXPECT_EQ(content(dir_.data_dir() + "/damaged-1/lost-jobs.jsonl"), "lost");
    open();  // It is a directory of ours.
  }
  std::string replacement() const { return dir_.data_dir() + "/replacement"; }
};

TEST_F(ReplacementAside, KeepsTheOldDatabase) {
  const Status done = replace_database(dir_.data_dir(), dir_.data_dir() + "/incoming/fresh");
  ASSERT_TRUE(done.ok()) << done.message();
  expect_kept();
}

TEST_F(ReplacementAside, IsFinishedAfterACrashAtTheBegin) {
  fs::rename(dir_.data_dir() + "/incoming/fresh", replacement());
  open();
  expect_kept();
}

TEST_F(ReplacementAside, IsFinishedAfterACrashWithTheOldDatabaseAside) {
  fs::rename(dir_.data_dir() + "/incoming/fresh", replacement());
  fs::rename(dir_.data_dir() + "/db", replacement() + "/damaged-1/db");
  open();
  expect_kept();
}

TEST_F(ReplacementAside, IsFinishedAfterACrashWithTheNewDatabaseInPlace) {
  fs::rename(dir_.data_dir() + "/incoming/fresh", replacement());
  fs::rename(dir_.data_dir() + "/db", replacement() + "/damaged-1/db");
  fs::rename(replacement() + "/db", dir_.data_dir() + "/db");
  fs::remove(dir_.data_dir() + "/durable");
  open();
  expect_kept();
}

}  // namespace
}  // namespace perennial::store
