// Tests the checkpoints that the log creates between batches.

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/checkpoint/checkpoint.h"
#include "store/commit/local_log.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

using testing::HasSubstr;

class LocalLogCheckpointTest : public testing::TestWithParam<Durability> {
 protected:
  void SetUp() override {
    Options options;
    options.data_dir = dir_.data_dir();
    options.durability = GetParam();
    options.sync_interval_ms = 3'600'000;
    options.events.fatal = [](const Status& status) { ADD_FAILURE() << status.message(); };
    Result<std::unique_ptr<Store>> store = Store::open(options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
    log_ = std::make_unique<LocalLog>(*store_, [this] {
      const std::lock_guard lock(mutex_);
      woken_.notify_all();
    });
    std::filesystem::create_directory(checkpoints());
  }

  std::string checkpoints() const { return dir_.path() + "/checkpoints"; }

  void wait() {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return log_->idle(); });
  }
  void write(int batches) {
    for (int i = 0; i < batches; ++i) {
      // The model keeps the bodies until the next batch is made.
      Batch batch;
      model_.next(batch, 20);
      wait();
      log_->append(std::move(batch));
    }
    wait();
  }
  CheckpointPlan next_plan() {
    CheckpointPlan plan = {.dir = checkpoints(),
                           .name = checkpoint_name(nanos_per_second * ++plans_),
                           .server_version = "0.1.0",
                           .index = model_.index(),
                           .jobs = StateCounts()};
    for (const auto& entry : model_.image().jobs) ++count_of(*plan.jobs, entry.second.state);
    return plan;
  }
  Log::Update create_checkpoint(const std::string& path) {
    log_->checkpoint(path);
    wait();
    return log_->collect();
  }

  const TempDir dir_;
  StoreModel model_{support::seed()};
  Nanos plans_ = 0;
  std::mutex mutex_;  // For woken_, which signals that idle() may have changed.
  std::condition_variable woken_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LocalLog> log_;
};

TEST_P(LocalLogCheckpointTest, ACheckpointHoldsAllBatchesBeforeItAndNoneAfter) {
  std::vector<CheckpointPlan> plans;
  for (int i = 0; i < 4; ++i) {
    write(15);
    plans.push_back(next_plan());
    const Log::Update done = create_checkpoint(partial_path(plans.back()));
    ASSERT_TRUE(done.checkpoint);
    ASSERT_TRUE(done.checkpoint->status.ok()) << done.checkpoint->status.message();
    EXPECT_GT(done.checkpoint->took, 0);
    // This holds in every mode, because the store must not lose a batch that a checkpoint holds.
    EXPECT_EQ(done.indices.durable, model_.index());
    EXPECT_FALSE(log_->collect().checkpoint) << "told once";
  }
  write(15);
  for (const CheckpointPlan& each : plans) {
    const Result<CheckpointManifest> manifest = complete_checkpoint(each);
    ASSERT_TRUE(manifest.ok()) << manifest.status().message();
    EXPECT_EQ(manifest->commit.index, each.index);
    EXPECT_EQ(manifest->jobs, *each.jobs);
  }
}

// The checkpoint is requested while the batch before it is under way.
TEST_P(LocalLogCheckpointTest, ACheckpointFollowsTheBatchThatIsUnderWay) {
  write(15);
  Batch batch;
  model_.next(batch, 2000);
  log_->append(std::move(batch));
  const CheckpointPlan under_way = next_plan();
  log_->checkpoint(partial_path(under_way));
  write(15);
  const Log::Update update = log_->collect();
  ASSERT_TRUE(update.checkpoint);
  ASSERT_TRUE(update.checkpoint->status.ok()) << update.checkpoint->status.message();
  const Result<CheckpointManifest> manifest = complete_checkpoint(under_way);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->commit.index, under_way.index);
  EXPECT_EQ(manifest->jobs, *under_way.jobs);
}

TEST_P(LocalLogCheckpointTest, AFailedCheckpointDoesNotStopTheLog) {
  write(5);
  const std::string path = partial_path(next_plan());
  std::filesystem::create_directory(path);
  const Log::Update failed = create_checkpoint(path);
  ASSERT_TRUE(failed.checkpoint);
  EXPECT_THAT(failed.checkpoint->status.message(), HasSubstr("is there already"));
  const Log::Update nowhere = create_checkpoint(dir_.path() + "/none/x.partial");
  ASSERT_TRUE(nowhere.checkpoint);
  EXPECT_FALSE(nowhere.checkpoint->status.ok());
  EXPECT_FALSE(store_->failed());
  write(5);
  EXPECT_EQ(log_->collect().indices.reply_index(), model_.index());
  EXPECT_TRUE(create_checkpoint(partial_path(next_plan())).checkpoint->status.ok());
}

TEST_P(LocalLogCheckpointTest, ACheckpointCountsAsWorkAndIsDoneBeforeAStop) {
  write(1);
  const uint64_t before = log_->progress();
  const CheckpointPlan last = next_plan();
  log_->checkpoint(partial_path(last));
  EXPECT_FALSE(log_->idle() && log_->progress() == before);
  log_->stop();
  EXPECT_GE(log_->progress(), before + 2);
  EXPECT_FALSE(log_->busy());
  ASSERT_TRUE(log_->collect().checkpoint);
  EXPECT_TRUE(std::filesystem::is_directory(partial_path(last) + "/db"));
}

std::string case_name(const testing::TestParamInfo<Durability>& info) {
  return std::string(durability_name(info.param));
}
INSTANTIATE_TEST_SUITE_P(Modes, LocalLogCheckpointTest,
                         testing::Values(Durability::Commit, Durability::Interval,
                                         Durability::Never),
                         case_name);

}  // namespace
}  // namespace perennial::store
