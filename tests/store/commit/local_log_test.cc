#include "store/commit/local_log.h"

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

using support::Call;
using support::FaultFs;

// A counter that other threads raise, and for whose value a test can wait.
class Counter {
 public:
  void add() {
    {
      const std::lock_guard lock(mutex_);
      ++value_;
    }
    changed_.notify_all();
  }
  void wait_for(int value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return value_ >= value; });
  }
  int value() {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int value_ = 0;
};

// A store and its log on a file system where syncs of the log can be delayed or made to fail.
class LocalLogTest : public testing::Test {
 protected:
  void start(Durability durability, uint32_t sync_interval_ms = 3'600'000) {
    Options options;
    options.data_dir = dir_.data_dir();
    options.durability = durability;
    options.sync_interval_ms = sync_interval_ms;
    options.env = env_.get();
    options.events.fatal = [this](const Status& status) {
      fatal_ = status;
      fatals_.add();
    };
    Result<std::unique_ptr<Store>> store = Store::open(options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
    fs_->set_sync_hook([this](const std::string& path) {
      if (!path.ends_with(".log")) return;
      log_syncs_.add();
      syncs_allowed_.wait_for(log_syncs_.value());
    });
    log_ = std::make_unique<LocalLog>(*store_, [this] { wakes_.add(); });
  }

  void allow_syncs(int count) {
    for (int i = 0; i < count; ++i) syncs_allowed_.add();
  }

  // Appends the batch. Counts a wake also if append() commits the batch itself.
  void append(Batch batch) {
    if (log_->append(std::move(batch)) == Appended::Done) wakes_.add();
  }
  // Appends a batch with this one transition.
  void submit(Transition transition) {
    Batch batch;
    batch.add(std::move(transition));
    batch.seal({.epoch = 1, .index = next_index_, .known_durable = next_index_ - 1, .now = 1});
    ++next_index_;
    append(std::move(batch));
  }
  void submit_tube() { submit(TubeStored{.tube = 1, .name = "mail"}); }

  const TempDir dir_;
  const std::shared_ptr<FaultFs> fs_ = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(fs_);
  Counter log_syncs_;
  Counter syncs_allowed_;
  Counter wakes_;
  Counter fatals_;
  Status fatal_;  // Read only after fatals_ has counted it.
  BatchIndex next_index_ = 1;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LocalLog> log_;
};

// P1: a reply leaves only after its batch is durable.
TEST_F(LocalLogTest, ModeCommitRaisesTheReplyIndexAfterTheSync) {
  start(Durability::Commit);
  submit_tube();
  log_syncs_.wait_for(1);  // The committer waits in this sync.
  EXPECT_FALSE(log_->idle());
  EXPECT_EQ(log_->collect().indices.reply_index(), 0U);
  EXPECT_EQ(wakes_.value(), 0);
  allow_syncs(1);
  wakes_.wait_for(1);
  EXPECT_TRUE(log_->idle());
  const Log::Update done = log_->collect();
  EXPECT_EQ(done.indices.reply_index(), 1U);
  EXPECT_EQ(done.indices.durable, 1U);
  EXPECT_EQ(done.batches.size(), 1U);
  EXPECT_EQ(log_->collect().batches.size(), 0U);
}

TEST_F(LocalLogTest, ModeIntervalRaisesTheReplyIndexBeforeTheSync) {
  start(Durability::Interval);
  submit_tube();
  wakes_.wait_for(1);
  const Log::Update done = log_->collect();
  EXPECT_EQ(done.indices.reply_index(), 1U);
  EXPECT_EQ(done.indices.durable, 0U);
  EXPECT_EQ(log_syncs_.value(), 0);
  allow_syncs(1);
  log_->stop();  // The stop syncs.
  EXPECT_EQ(log_->collect().indices.durable, 1U);
  EXPECT_EQ(log_syncs_.value(), 1);
}

TEST_F(LocalLogTest, ModeIntervalSyncsWhenIdle) {
  start(Durability::Interval, 1);
  submit_tube();
  wakes_.wait_for(1);
  log_syncs_.wait_for(1);  // No other batch is submitted.
  allow_syncs(1);
  log_->stop();
  EXPECT_EQ(log_->collect().indices.durable, 1U);
  EXPECT_EQ(log_syncs_.value(), 1);
}

TEST_F(LocalLogTest, ModeNeverSyncsOnlyAtTheStop) {
  start(Durability::Never);
  for (int i = 1; i <= 5; ++i) {
    submit_tube();
    wakes_.wait_for(i);
  }
  EXPECT_EQ(log_->collect().indices.reply_index(), 5U);
  EXPECT_EQ(log_->collect().indices.durable, 0U);
  EXPECT_EQ(log_syncs_.value(), 0);
  allow_syncs(1);
  log_->stop();
  EXPECT_EQ(log_->collect().indices.durable, 5U);
}

// P3: in every mode a reply shows an id only after the id's block is synced.
TEST_F(LocalLogTest, TheNextIdIsSyncedInEveryMode) {
  start(Durability::Never);
  submit(NextIdRaised{.next_id = 1000});
  log_syncs_.wait_for(1);
  EXPECT_EQ(log_->collect().indices.reply_index(), 0U);
  allow_syncs(1);
  wakes_.wait_for(1);
  EXPECT_EQ(log_->collect().indices.durable, 1U);
}

// P4: no reply leaves after a failed write or sync.
struct FailureCase {
  const char* name;
  Durability durability;
  Call call;
};

class LocalLogFailure : public LocalLogTest, public testing::WithParamInterface<FailureCase> {};

TEST_P(LocalLogFailure, IsReportedOnceAndNoLaterBatchIsCommitted) {
  start(GetParam().durability, 1);
  allow_syncs(1000);
  fs_->fail_all(GetParam().call, rocksdb::IOStatus::IOError("injected"));
  submit_tube();
  fatals_.wait_for(1);
  log_->stop();
  const bool answers_early =
      GetParam().call == Call::Sync && GetParam().durability != Durability::Commit;
  EXPECT_EQ(log_->collect().indices.reply_index(), answers_early ? 1U : 0U);
  EXPECT_EQ(log_->collect().indices.durable, 0U);
  EXPECT_EQ(fatal_.code(), StatusCode::Io) << fatal_.message();
  EXPECT_TRUE(store_->failed());
  Batch batch;
  batch.add(TubeStored{.tube = 2, .name = "more"});
  batch.seal({.epoch = 1, .index = 2, .known_durable = 0, .now = 1});
  EXPECT_FALSE(store_->write(batch, true).ok());
  EXPECT_EQ(fatals_.value(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    LocalLog, LocalLogFailure,
    testing::Values(FailureCase{"CommitSync", Durability::Commit, Call::Sync},
                    FailureCase{"CommitAppend", Durability::Commit, Call::Append},
                    FailureCase{"IntervalSync", Durability::Interval, Call::Sync},
                    FailureCase{"IntervalAppend", Durability::Interval, Call::Append}),
    [](const auto& one) { return one.param.name; });

TEST_F(LocalLogTest, AFullDiskIsReported) {
  start(Durability::Commit);
  allow_syncs(1000);
  fs_->fail_all(Call::Append, rocksdb::IOStatus::NoSpace("injected"));
  submit_tube();
  fatals_.wait_for(1);
  EXPECT_EQ(fatal_.code(), StatusCode::NoSpace) << fatal_.message();
}

// A flush fails on one of RocksDB's own threads.
TEST_F(LocalLogTest, ABackgroundErrorFailsTheStore) {
  start(Durability::Commit);
  allow_syncs(1000);
  submit_tube();
  wakes_.wait_for(1);
  fs_->fail_all(Call::Create, rocksdb::IOStatus::IOError("injected"));
  EXPECT_FALSE(store_->flush().ok());
  fatals_.wait_for(1);
  EXPECT_TRUE(store_->failed());
  EXPECT_EQ(fatals_.value(), 1);
}

TEST_F(LocalLogTest, PublishesTheFactsOfTheStore) {
  start(Durability::Interval);
  submit_tube();
  wakes_.wait_for(1);
  const StoreFacts facts = log_->collect().store.facts;
  EXPECT_EQ(facts.durability, "interval");
  EXPECT_EQ(facts.state, "ok");
  EXPECT_EQ(facts.records_written, 1U);
  EXPECT_EQ(facts.log_bytes_max, 64U << 20);
  EXPECT_GT(facts.log_oldest_index, 0U);
  EXPECT_GE(facts.log_current_index, facts.log_oldest_index);
  allow_syncs(1);
}

// Fills one batch while the other is written, as the loop does.
TEST_F(LocalLogTest, CommitsAHistory) {
  start(Durability::Commit);
  allow_syncs(1000);
  StoreModel model(support::seed());
  std::vector<Batch> free(2);
  for (int i = 0; i < 200; ++i) {
    Batch batch = std::move(free.back());
    free.pop_back();
    model.next(batch, 20);
    wakes_.wait_for(i);
    Log::Update done = log_->collect();
    ASSERT_EQ(done.indices.reply_index(), model.index() - 1);
    for (Batch& used : done.batches) free.push_back(std::move(used));
    append(std::move(batch));
  }
  log_->stop();
  log_.reset();
  EXPECT_EQ(difference(*store_, model.image()), "");
}

// The watchdog detects this state.
TEST_F(LocalLogTest, ASyncThatHangsIsWorkWithoutProgress) {
  start(Durability::Commit);
  submit_tube();
  log_syncs_.wait_for(1);  // The committer waits in this sync.
  EXPECT_TRUE(log_->busy());
  const uint64_t progress = log_->progress();
  allow_syncs(1);
  wakes_.wait_for(1);
  log_->stop();
  EXPECT_FALSE(log_->busy());
  EXPECT_GT(log_->progress(), progress);
}

}  // namespace
}  // namespace perennial::store
