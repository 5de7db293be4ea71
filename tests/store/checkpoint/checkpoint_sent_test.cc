#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/types/check.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/checkpoint_manifest.h"
#include "store/disk/file_tree.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/support/seed.h"

// A checkpoint that another node gets: the sender lists and hashes its files, and the other node
// reads tables and rows.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

class SentCheckpoint : public testing::Test {
 protected:
  SentCheckpoint() {
    maker_.write(30);
    const Result<CheckpointPlan> plan = maker_.create();
    CHECK(plan.ok());
    path_ = partial_path(*plan);
    const Result<CheckpointManifest> listed = list_partial_checkpoint(*plan);
    CHECK(listed.ok());
    list_ = *listed;
  }

  // What complete_checkpoint() makes of it.
  CheckpointManifest completed() {
    const Result<CheckpointManifest> made = maker_.make();
    CHECK(made.ok());
    return *made;
  }
  // As the sender does. It makes a checkpoint of the directory.
  void write_hashes() {
    for (CheckpointFile& file : list_.files) {
      const Result<std::string> hash = FileTree(nullptr).hash(path_ + "/db/" + file.name);
      CHECK(hash.ok());
      file.hash = *hash;
    }
    const std::string whole = maker_.dir() + "/sent";
    fs::rename(path_, whole);
    path_ = whole;
    write_file(path_ + "/manifest.json", render(list_));
  }
  std::string content_of(const std::string& name) const {
    return FileTree(nullptr).read(path_ + "/db/" + name).take();
  }
  // Changes a byte of a file, of which the store has another link. A second call undoes it.
  void damage(const std::string& name, size_t at) {
    std::string content = content_of(name);
    content[at] ^= 1;
    fs::remove(path_ + "/db/" + name);
    write_file(path_ + "/db/" + name, content);
  }
  void damage(const std::string& name) { damage(name, content_of(name).size() / 2); }
  std::string log() const {
    const auto found = std::ranges::find_if(
        list_.files, [](const CheckpointFile& file) { return file.name.ends_with(".log"); });
    CHECK(found != list_.files.end());
    return found->name;
  }
  std::vector<std::string> tables() const {
    std::vector<std::string> out;
    for (const CheckpointFile& file : list_.files) {
      if (file.name.ends_with(".sst")) out.push_back(file.name);
    }
    return out;
  }

  CheckpointMaker maker_{support::seed()};
  CheckpointManifest list_;
  std::string path_;
};

TEST_F(SentCheckpoint, IsListedWithoutBeingRead) {
  EXPECT_FALSE(list_.has_counts);
  EXPECT_EQ(list_.commit.index, maker_.model().index());
  EXPECT_EQ(list_.format, format_version);
  EXPECT_EQ(list_.server_version, "0.1.0");
  ASSERT_FALSE(tables().empty());
  for (const CheckpointFile& file : list_.files) {
    EXPECT_EQ(file.bytes, fs::file_size(path_ + "/db/" + file.name)) << file.name;
    EXPECT_EQ(file.hash, "") << file.name;
  }
}

TEST_F(SentCheckpoint, ItsManifestReadsBackAsWritten) {
  const Result<CheckpointManifest> read = parse_manifest(render(list_));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->commit.index, list_.commit.index);
  EXPECT_EQ(read->files, list_.files);
  EXPECT_FALSE(read->has_counts);
  list_.commit.index = 0;  // Not known.
  const Result<CheckpointManifest> older = parse_manifest(render(list_));
  ASSERT_TRUE(older.ok()) << older.status().message();
  EXPECT_EQ(older->commit.index, 0U);
}

TEST_F(SentCheckpoint, IsVerifiedAsWhatACompletedOneHolds) {
  const Result<CheckpointManifest> found = verify_rows(path_, list_);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->has_counts);
  const CheckpointManifest wanted = completed();
  EXPECT_EQ(found->commit, wanted.commit);
  EXPECT_EQ(found->next_id, wanted.next_id);
  EXPECT_EQ(found->jobs, wanted.jobs);
  EXPECT_EQ(found->tubes.size(), wanted.tubes.size());
}

TEST_F(SentCheckpoint, IsACheckpointOnceItHasItsHashes) {
  write_hashes();
  const Result<CheckpointManifest> found = verify_checkpoint(path_);
  EXPECT_TRUE(found.ok()) << found.status().message();
}

// The sender has hashed what its disk gave it, and not noticed the damage.
TEST_F(SentCheckpoint, DamageOfTheSendersDiskIsRefused) {
  for (const CheckpointFile& file : list_.files) {
    EXPECT_TRUE(verify_database_file(path_ + "/db/" + file.name).ok()) << file.name;
  }
  for (const std::string& name : tables()) {
    SCOPED_TRACE(name);
    damage(name);
    const Status found = verify_database_file(path_ + "/db/" + name);
    EXPECT_EQ(found.code(), StatusCode::Corruption) << found.message();
    damage(name);  // The byte is as it was.
    EXPECT_TRUE(verify_database_file(path_ + "/db/" + name).ok());
  }
  damage(tables().back());
  write_hashes();
  const Result<CheckpointManifest> found = verify_checkpoint(path_);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find(tables().back()), std::string::npos)
      << found.status().message();
}

// Those that are no tables, and whose checksums are read with the rows.
TEST_F(SentCheckpoint, DamageOfTheLogAndOfRocksdbsManifestIsRefused) {
  for (const CheckpointFile& file : list_.files) {
    const bool is_read = file.name == log() || file.name.starts_with("MANIFEST-");
    if (!is_read) continue;
    SCOPED_TRACE(file.name);
    // The end of a log is empty, and how much of it depends on the batches.
    const size_t at = content_of(file.name).find_last_not_of('\0') / 4;
    damage(file.name, at);
    EXPECT_FALSE(verify_rows(path_, list_).ok());
    damage(file.name, at);
  }
  EXPECT_TRUE(verify_rows(path_, list_).ok());
}

// A start would take this for a batch that was never acknowledged, and leave it out.
TEST_F(SentCheckpoint, DamageOfTheLastBatchIsRefused) {
  damage(log(), content_of(log()).find_last_not_of('\0'));
  const Result<CheckpointManifest> found = verify_rows(path_, list_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::Corruption);
  EXPECT_NE(
      found.status().message().find("it ends with commit 29, and its manifest says commit 30"),
      std::string::npos)
      << found.status().message();
}

TEST_F(SentCheckpoint, AnotherLastBatchIsRefused) {
  ++list_.commit.index;
  const Result<CheckpointManifest> found = verify_rows(path_, list_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::Corruption);
  EXPECT_NE(found.status().message().find("it ends with commit"), std::string::npos)
      << found.status().message();
  write_hashes();
  EXPECT_FALSE(verify_checkpoint(path_).ok());
}

TEST_F(SentCheckpoint, AMissingTableIsRefused) {
  fs::remove(path_ + "/db/" + tables().front());
  EXPECT_FALSE(verify_rows(path_, list_).ok());
}

TEST_F(SentCheckpoint, TheReadingOfRowsEndsWhenItIsAsked) {
  // More rows than are read between two looks.
  maker_.write(40, false, 2000);
  ASSERT_GT(maker_.model().image().jobs.size(), 4096U);
  const Result<CheckpointPlan> plan = maker_.create();
  ASSERT_TRUE(plan.ok());
  path_ = partial_path(*plan);
  list_ = list_partial_checkpoint(*plan).take();
  int calls = 0;
  ASSERT_TRUE(verify_rows(path_, list_, [&calls] { return ++calls == 0; }).ok());
  ASSERT_GT(calls, 0);
  for (int n = 0; n < calls; ++n) {
    int left = n;
    const auto ended = verify_rows(path_, list_, [&left] { return --left < 0; });
    ASSERT_FALSE(ended.ok()) << n;
    EXPECT_EQ(ended.status().code(), StatusCode::Io) << ended.status().message();
    EXPECT_NE(ended.status().message().find("cancelled"), std::string::npos)
        << ended.status().message();
  }
}

}  // namespace
}  // namespace perennial::store
