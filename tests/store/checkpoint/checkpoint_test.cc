#include "store/checkpoint/checkpoint.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "store/offline/restore.h"
#include "store/reader.h"
#include "store/rocks/log_env.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/store/dir_state.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

TEST(Checkpoint, HasTheTimeInItsName) {
  EXPECT_EQ(checkpoint_name(checkpoint_time), "2026-11-21T12-40-05.123Z");
  EXPECT_EQ(checkpoint_name(0), "1970-01-01T00-00-00.000Z");
}

TEST(Checkpoint, TheManifestListsItsContent) {
  CheckpointMaker maker(support::seed());
  maker.write(30);
  const Result<CheckpointManifest> made = maker.make();
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Image& image = maker.model().image();
  EXPECT_EQ(made->commit.index, maker.model().index());
  EXPECT_EQ(made->job_count(), image.jobs.size());
  EXPECT_EQ(made->tubes.size(), image.tubes.size());
  EXPECT_GE(made->next_id, maker.model().next_id());
  EXPECT_EQ(made->format, format_version);
  uint64_t body_bytes = 0;
  for (const auto& [id, row] : image.jobs) body_bytes += row.body_bytes;
  for (const CheckpointTube& tube : made->tubes) body_bytes -= tube.body_bytes;
  EXPECT_EQ(body_bytes, 0U);
}

TEST(Checkpoint, TheManifestReadsBackAsWritten) {
  CheckpointMaker maker(support::seed());
  maker.write(30);
  const Result<CheckpointManifest> made = maker.make();
  ASSERT_TRUE(made.ok()) << made.status().message();
  uint64_t read = 0;
  const Result<CheckpointManifest> verified =
      verify_checkpoint(maker.path(), [&](uint64_t bytes) { read = bytes; });
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  EXPECT_EQ(read, made->bytes());
  EXPECT_EQ(verified->name, made->name);
  EXPECT_EQ(verified->created, checkpoint_time);
  EXPECT_EQ(verified->commit, made->commit);
  EXPECT_EQ(verified->files, made->files);
  EXPECT_EQ(verified->server_version, "0.1.0");
}

// The newest log file holds no record after a flush, and RocksDB leaves such a file out.
TEST(Checkpoint, OfAStoreThatWroteNothingSinceAFlushIsWhole) {
  CheckpointMaker maker(support::seed());
  maker.write(30);
  ASSERT_TRUE(maker.store().flush().ok());
  for (int i = 0; i < 2; ++i) {
    const Result<CheckpointManifest> made = maker.make();
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->commit.index, maker.model().index());
    EXPECT_TRUE(verify_checkpoint(maker.path()).ok());
    std::atomic<bool> cancelled = false;
    ASSERT_TRUE(maker.store().compact_tombstones(cancelled, 0).ok());
  }
  const std::string newest = newest_log(maker.path());
  fs::remove(newest);
  EXPECT_FALSE(Reader::open({.path = maker.path()}).ok()) << newest;
}

TEST(Checkpoint, DoesNotChangeWhileTheStoreWrites) {
  CheckpointMaker maker(support::seed());
  maker.write(10);
  ASSERT_TRUE(maker.make().ok());
  maker.write(30);
  ASSERT_TRUE(maker.store().flush().ok());
  const Result<CheckpointManifest> verified = verify_checkpoint(maker.path());
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  EXPECT_EQ(verified->commit.index, 10U);
}

// The copy of the log in a checkpoint is a log file, too, and is as long as the zeros that lie
// ahead of the store's own. It says nothing of how far that one was synced.
TEST(Checkpoint, AStartAfterAKillNeedsNoMoreThanTheLogHas) {
  CheckpointMaker maker(support::seed());
  maker.write(50, false, 1);
  const std::string log = newest_log(maker.data_dir());
  ASSERT_LT(log_end(log), fs::file_size(log)) << "no zeros lie ahead";
  ASSERT_TRUE(maker.make().ok());
  maker.write(1, false, 1);
  const std::string killed = maker.dir() + "/killed";
  fs::copy(maker.data_dir(), killed, fs::copy_options::recursive);
  const Result<std::unique_ptr<Store>> store = Store::open({.data_dir = killed});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->opening().last_index, maker.model().index());
  EXPECT_EQ(difference(**store, maker.model().image()), "");
}

// A copy's log may be removed and its database restored, and it never gets another log.
TEST(Checkpoint, HasNoMarkOfTheNewestLog) {
  CheckpointMaker maker(support::seed());
  maker.write(5, false);
  ASSERT_TRUE(maker.make().ok());
  for (const auto& entry : fs::directory_iterator(maker.path() + "/db")) {
    EXPECT_EQ(log_mark_of(entry.path().filename().string()), 0U) << entry.path();
  }
}

TEST(Checkpoint, OnlyItsOwnerMayReadIt) {
  CheckpointMaker maker(support::seed());
  maker.write(10);
  ASSERT_TRUE(maker.make().ok());
  for (const auto& entry : fs::recursive_directory_iterator(maker.path())) {
    struct stat found = {};
    ASSERT_EQ(::stat(entry.path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, entry.is_directory() ? 0700U : 0600U) << entry.path();
  }
}

TEST(Restore, HoldsExactlyTheJobsOfTheCheckpoint) {
  CheckpointMaker maker(support::seed());
  maker.write(30);
  const Image image = maker.model().image();
  const Result<CheckpointManifest> made = maker.make();
  ASSERT_TRUE(made.ok()) << made.status().message();
  maker.write(10);
  const Restore how = {.from = maker.path(), .to = maker.dir() + "/restored"};
  const Result<Restored> restored = restore_checkpoint(how);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(restored->next_id, made->next_id + skipped_ids);
  Result<std::unique_ptr<Store>> store = Store::open({.data_dir = how.to});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(difference(**store, image), "");
  EXPECT_EQ((*store)->opening().last_index, made->commit.index);
  EXPECT_EQ((*store)->opening().next_id, restored->next_id);
}

}  // namespace
}  // namespace perennial::store
