// Checkpoints that the log cuts while it writes.

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
#include "tests/store/temp_dir.h"
#include "tests/store/world.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

using testing::HasSubstr;

class LocalLogCutTest : public testing::TestWithParam<Durability> {
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
      // Its bodies live while the next batch is made.
      Batch batch;
      world_.next(batch, 20);
      wait();
      log_->append(std::move(batch));
    }
    wait();
  }
  CheckpointCut next_cut() {
    CheckpointCut cut = {.dir = checkpoints(),
                         .name = checkpoint_name(nanos_per_second * ++cuts_),
                         .server_version = "0.1.0",
                         .index = world_.index(),
                         .jobs = StateCounts()};
    for (const auto& entry : world_.image().jobs) ++count_of(*cut.jobs, entry.second.state);
    return cut;
  }
  Log::News cut(const std::string& path) {
    log_->cut(path);
    wait();
    return log_->collect();
  }

  const TempDir dir_;
  World world_{support::seed()};
  Nanos cuts_ = 0;
  std::mutex mutex_;  // With woken_: that idle() may have changed.
  std::condition_variable woken_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LocalLog> log_;
};

TEST_P(LocalLogCutTest, EachHoldsTheBatchesBeforeItAndNoneBehind) {
  std::vector<CheckpointCut> cuts;
  for (int i = 0; i < 4; ++i) {
    write(15);
    cuts.push_back(next_cut());
    const Log::News done = cut(partial_path(cuts.back()));
    ASSERT_TRUE(done.cut);
    ASSERT_TRUE(done.cut->status.ok()) << done.cut->status.message();
    EXPECT_GT(done.cut->took, 0);
    // In every mode, because what is in a checkpoint must not be lost by what it was made of.
    EXPECT_EQ(done.indices.durable, world_.index());
    EXPECT_FALSE(log_->collect().cut) << "told once";
  }
  write(15);
  for (const CheckpointCut& each : cuts) {
    const Result<CheckpointManifest> manifest = complete_checkpoint(each);
    ASSERT_TRUE(manifest.ok()) << manifest.status().message();
    EXPECT_EQ(manifest->commit.index, each.index);
    EXPECT_EQ(manifest->jobs, *each.jobs);
  }
}

// Nobody waits for the batch before the cut is given.
TEST_P(LocalLogCutTest, HasItsPlaceBehindTheBatchThatIsUnderWay) {
  write(15);
  Batch batch;
  world_.next(batch, 2000);
  log_->append(std::move(batch));
  const CheckpointCut under_way = next_cut();
  log_->cut(partial_path(under_way));
  write(15);
  const Log::News news = log_->collect();
  ASSERT_TRUE(news.cut);
  ASSERT_TRUE(news.cut->status.ok()) << news.cut->status.message();
  const Result<CheckpointManifest> manifest = complete_checkpoint(under_way);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->commit.index, under_way.index);
  EXPECT_EQ(manifest->jobs, *under_way.jobs);
}

TEST_P(LocalLogCutTest, ThatFailsHarmsNothing) {
  write(5);
  const std::string path = partial_path(next_cut());
  std::filesystem::create_directory(path);
  const Log::News failed = cut(path);
  ASSERT_TRUE(failed.cut);
  EXPECT_THAT(failed.cut->status.message(), HasSubstr("is there already"));
  const Log::News nowhere = cut(dir_.path() + "/none/x.partial");
  ASSERT_TRUE(nowhere.cut);
  EXPECT_FALSE(nowhere.cut->status.ok());
  EXPECT_FALSE(store_->failed());
  write(5);
  EXPECT_EQ(log_->collect().indices.answerable(), world_.index());
  EXPECT_TRUE(cut(partial_path(next_cut())).cut->status.ok());
}

TEST_P(LocalLogCutTest, IsSeenAsWorkByTheWatchdogAndDoneBeforeAStop) {
  write(1);
  const uint64_t before = log_->progress();
  const CheckpointCut last = next_cut();
  log_->cut(partial_path(last));
  EXPECT_FALSE(log_->idle() && log_->progress() == before);
  log_->stop();
  EXPECT_GE(log_->progress(), before + 2);
  EXPECT_FALSE(log_->busy());
  ASSERT_TRUE(log_->collect().cut);
  EXPECT_TRUE(std::filesystem::is_directory(partial_path(last) + "/db"));
}

std::string case_name(const testing::TestParamInfo<Durability>& info) {
  return std::string(durability_name(info.param));
}
INSTANTIATE_TEST_SUITE_P(Modes, LocalLogCutTest,
                         testing::Values(Durability::Commit, Durability::Interval,
                                         Durability::Never),
                         case_name);

}  // namespace
}  // namespace perennial::store
