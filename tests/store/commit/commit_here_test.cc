// Tests which batches append() writes on the loop's thread.

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include "store/commit/local_log.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

// A log on a steady clock that advances only by sync_takes_ at each sync of a log file.
class CommitHereTest : public testing::Test {
 protected:
  void start(Durability durability) {
    Options options;
    options.data_dir = dir_.data_dir();
    options.durability = durability;
    options.caller_operations_max = caller_operations_max_;
    options.steady_clock = [this] { return now_.load(); };
    options.env = env_.get();
    options.events.fatal = [this](const Status&) { ++fatals_; };
    Result<std::unique_ptr<Store>> store = Store::open(options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
    fs_->set_sync_hook([this](const std::string& path) {
      if (!path.ends_with(".log")) return;
      now_ += sync_takes_.load();
    });
    log_ = std::make_unique<LocalLog>(*store_, [this] {
      ++wakes_;
      wakes_.notify_all();
    });
  }

  Batch next(int transitions = 5) {
    Batch batch;
    model_.next(batch, transitions);
    return batch;
  }
  // Appends the batch and waits until it is committed.
  void submit(Batch batch) {
    const int before = wakes_;
    if (log_->append(std::move(batch)) == Appended::UnderWay) wakes_.wait(before);
  }
  void warm_up() {
    for (int i = 0; i < 16; ++i) submit(next());
  }
  // Appends the batch and waits until it is committed. Returns whether append() wrote it.
  bool commit_here(Batch batch) {
    const int before = wakes_;
    const bool is_done = log_->append(std::move(batch)) == Appended::Done;
    if (is_done) {
      EXPECT_EQ(wakes_, before);
    } else {
      wakes_.wait(before);
    }
    EXPECT_TRUE(log_->idle());
    const Log::Update update = log_->collect();
    EXPECT_EQ(update.indices.reply_index(), model_.index());
    EXPECT_FALSE(update.batches.empty());
    return is_done;
  }

  // Returns whether append() writes one of the next batches. The first may go to the committer,
  // while that still polls or syncs.
  bool soon_commits_here() {
    for (int i = 0; i < 100; ++i) {
      if (commit_here(next())) return true;
    }
    return false;
  }

  const TempDir dir_;
  const std::shared_ptr<support::FaultFs> fs_ =
      std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(fs_);
  StoreModel model_{support::seed()};
  size_t caller_operations_max_ = SIZE_MAX;
  std::atomic<Nanos> now_ = nanos_per_second;
  std::atomic<Nanos> sync_takes_ = 100'000;
  std::atomic<int> wakes_ = 0;
  std::atomic<int> fatals_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LocalLog> log_;
};

TEST_F(CommitHereTest, AppendCommitsAfterManyQuickCommits) {
  start(Durability::Commit);
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(commit_here(next())) << i;
  EXPECT_TRUE(soon_commits_here());
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(commit_here(next())) << i;
  log_->stop();
  EXPECT_EQ(log_->collect().indices.durable, model_.index());
  EXPECT_EQ(difference(*store_, model_.image()), "");
}

TEST_F(CommitHereTest, OneSlowSyncReturnsCommitsToTheThread) {
  start(Durability::Commit);
  warm_up();
  EXPECT_TRUE(soon_commits_here());
  sync_takes_ = 2 * nanos_per_ms;
  EXPECT_TRUE(commit_here(next()));
  sync_takes_ = 100'000;
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(commit_here(next())) << i;
  EXPECT_TRUE(soon_commits_here());
}

TEST_F(CommitHereTest, ALargeBatchIsCommittedByTheThread) {
  start(Durability::Commit);
  warm_up();
  EXPECT_FALSE(commit_here(next(1000)));
  EXPECT_TRUE(soon_commits_here());
}

TEST_F(CommitHereTest, ABatchIsCommittedByTheThreadWhereTheCallersTimeIsDear) {
  caller_operations_max_ = 60;
  start(Durability::Commit);
  warm_up();
  EXPECT_TRUE(soon_commits_here());
  EXPECT_FALSE(commit_here(next(100)));
  EXPECT_TRUE(soon_commits_here());
}

// The committer polls the disk once a second.
TEST_F(CommitHereTest, ABatchIsCommittedByTheThreadWhenAPollIsDue) {
  start(Durability::Commit);
  warm_up();
  now_ += nanos_per_second;
  EXPECT_FALSE(commit_here(next()));
  EXPECT_TRUE(soon_commits_here());
}

TEST_F(CommitHereTest, ModeNeverWritesOnTheCallersThreadWithoutASync) {
  start(Durability::Never);
  warm_up();
  EXPECT_TRUE(soon_commits_here());
  for (int i = 0; i < 16; ++i) {
    Batch batch = next();
    const bool raises_next_id = batch.must_sync();
    EXPECT_EQ(commit_here(std::move(batch)), !raises_next_id) << i;
  }
  while (!commit_here(next())) continue;
  EXPECT_LT(log_->collect().indices.durable, model_.index());
  log_->stop();
  EXPECT_EQ(log_->collect().indices.durable, model_.index());
  EXPECT_EQ(difference(*store_, model_.image()), "");
}

// A next id is synced in every mode, and nothing tells how long that takes.
TEST_F(CommitHereTest, ABatchThatNeedsASyncIsCommittedByTheThreadInModeNever) {
  start(Durability::Never);
  warm_up();
  EXPECT_TRUE(soon_commits_here());
  Batch batch;
  batch.add(NextIdRaised{.next_id = 1'000'000});
  batch.seal({.epoch = 1, .index = model_.index() + 1, .now = 1});
  const int before = wakes_;
  ASSERT_EQ(log_->append(std::move(batch)), Appended::UnderWay);
  wakes_.wait(before);
  EXPECT_EQ(log_->collect().indices.durable, model_.index() + 1);
}

// The committer has to learn when the interval ends, also if the caller's thread writes the rest.
TEST_F(CommitHereTest, ModeIntervalSyncsAtItsEnd) {
  start(Durability::Interval);
  warm_up();
  EXPECT_TRUE(soon_commits_here());
  while (!commit_here(next())) continue;
  now_ += 50 * nanos_per_ms;  // The interval.
  for (int tries = 0; tries < 10'000 && log_->collect().indices.durable < model_.index(); ++tries) {
    usleep(1'000);
  }
  EXPECT_EQ(log_->collect().indices.durable, model_.index());
  EXPECT_FALSE(commit_here(next())) << "it begins the next interval";
  EXPECT_TRUE(soon_commits_here());
}

TEST_F(CommitHereTest, AFailureIsReportedAndNoReplyLeaves) {
  start(Durability::Commit);
  warm_up();
  EXPECT_TRUE(soon_commits_here());
  const BatchIndex before = log_->collect().indices.reply_index();
  fs_->fail_all(support::Call::Sync, rocksdb::IOStatus::IOError("injected"));
  Batch batch = next();
  EXPECT_EQ(log_->append(std::move(batch)), Appended::Done);
  EXPECT_EQ(fatals_, 1);
  EXPECT_FALSE(log_->idle());
  EXPECT_EQ(log_->collect().indices.reply_index(), before);
}

}  // namespace
}  // namespace perennial::store
