// Tests the copies that a cluster's log makes at an index.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/batch/batch_codec.h"
#include "store/checkpoint/checkpoint.h"
#include "store/cluster/cluster_log.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

namespace perennial::store::cluster {
namespace {

using testing::HasSubstr;

// Runs what was posted when the test says so. Its timers never fire.
class HandExecutor final : public etcd::Executor {
 public:
  Nanos now() const override { return 0; }
  Nanos wall() const override { return 0; }
  void post(std::function<void()> run) override {
    const std::lock_guard lock(mutex_);
    posts_.push_back(std::move(run));
    posted_.notify_all();
  }
  etcd::TimerId after(Nanos, std::function<void()>) override { return 1; }
  void cancel_timer(etcd::TimerId) override {}

  void run() {
    std::vector<std::function<void()>> posts;
    {
      const std::lock_guard lock(mutex_);
      posts.swap(posts_);
    }
    for (const std::function<void()>& post : posts) post();
  }
  // Until `is_done`, or for a minute, which fails the test.
  void run_until(const std::function<bool()>& is_done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (run(), !is_done()) {
      std::unique_lock lock(mutex_);
      ASSERT_TRUE(posted_.wait_until(lock, end, [this] { return !posts_.empty(); }));
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::vector<std::function<void()>> posts_;
};

class ClusterLogCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Store>> store =
        Store::open({.data_dir = dir_.data_dir(), .durability = Durability::Interval});
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
    ClusterLog::Links links;
    links.append = [this](BatchIndex index, std::string) { appended_ = index; };
    links.progress = [this](BatchIndex applied, BatchIndex) { applied_ = applied; };
    links.space = [](bool) {};
    links.disk_damaged = [](const std::string& what) { ADD_FAILURE() << what; };
    links.damaged = [](const Status& status) { ADD_FAILURE() << status.message(); };
    links.wake = [] {};
    log_ = std::make_unique<ClusterLog>(*store_, executor_, std::move(links));
    images_.push_back(model_.image());
  }

  // The next entry of the leader, for a standby.
  void add_entry() {
    Batch batch;
    model_.next(batch, 10);
    std::string bytes;
    encode_batch(batch, bytes);
    images_.push_back(model_.image());
    log_->add_entry(model_.index(), std::move(bytes));
  }
  void wait_for(BatchIndex index) {
    executor_.run_until([&] { return applied_ == index; });
  }
  std::string copy() const { return dir_.path() + "/copy"; }
  void ask(BatchIndex index, const std::string& dir) {
    log_->checkpoint_at(index, dir, [this](Result<BatchIndex> made) { made_ = std::move(made); });
  }
  Result<BatchIndex> made() {
    executor_.run_until([this] { return made_.has_value(); });
    return *std::exchange(made_, std::nullopt);
  }
  // What the copy holds, compared with what the leader had then.
  std::string difference_at(const std::string& dir, BatchIndex index) {
    Result<std::unique_ptr<Store>> store = Store::open({.data_dir = dir});
    if (!store.ok()) return store.status().message();
    if ((*store)->opening().last_index != index) return "the copy ends elsewhere";
    return difference(**store, images_[index]);
  }

  const TempDir dir_;
  StoreModel model_{support::seed()};
  HandExecutor executor_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ClusterLog> log_;
  std::vector<Image> images_;  // After each batch.
  BatchIndex applied_ = 0;
  BatchIndex appended_ = 0;
  std::optional<Result<BatchIndex>> made_;
};

TEST_F(ClusterLogCheckpoint, OfAStandbyHoldsWhatWasToBeApplied) {
  for (int i = 0; i < 5; ++i) add_entry();
  ask(0, copy());
  executor_.run();
  for (int i = 0; i < 5; ++i) add_entry();
  const Result<BatchIndex> index = made();
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(*index, 5u);
  wait_for(10);
  EXPECT_EQ(difference_at(copy(), 5), "");
}

TEST_F(ClusterLogCheckpoint, WaitsForItsBatchAndHoldsNoneAfterIt) {
  add_entry();
  ask(7, copy());
  ask(7, copy() + "2");
  wait_for(1);
  EXPECT_FALSE(made_.has_value());
  for (int i = 0; i < 9; ++i) add_entry();
  wait_for(10);
  ASSERT_TRUE(made_.has_value() && made_->ok());
  EXPECT_EQ(**made_, 7u);
  EXPECT_EQ(difference_at(copy(), 7), "");
  EXPECT_EQ(difference_at(copy() + "2", 7), "");
}

TEST_F(ClusterLogCheckpoint, HasItsPlaceAmongBatchesThatWait) {
  // Nothing follows it before its result is taken.
  ask(0, copy() + "0");
  executor_.run();
  for (int i = 0; i < 6; ++i) add_entry();
  ask(4, copy());
  ask(2, copy() + "2");
  wait_for(6);
  EXPECT_EQ(difference_at(copy() + "0", 0), "");
  EXPECT_EQ(difference_at(copy(), 4), "");
  EXPECT_EQ(difference_at(copy() + "2", 2), "");
}

TEST_F(ClusterLogCheckpoint, OfABatchThatHasPassedIsRefusedWithThePresentOne) {
  for (int i = 0; i < 3; ++i) add_entry();
  wait_for(3);
  ask(2, copy());
  const Result<BatchIndex> refused = made();
  ASSERT_EQ(refused.status().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("batch 2 has passed: the newest applied is 3"));
  ask(3, copy());
  EXPECT_EQ(*made(), 3u);
  ask(3, copy());
  EXPECT_THAT(made().status().message(), HasSubstr("is there already"));
}

TEST_F(ClusterLogCheckpoint, OfALeaderIsMadeBesideThoseOfTheServer) {
  Batch batch;
  model_.next(batch, 10);
  images_.push_back(model_.image());
  log_->append(std::move(batch));
  log_->checkpoint(copy());
  ask(1, copy() + "2");
  executor_.run_until([this] { return appended_ == 1; });
  EXPECT_FALSE(made_.has_value());
  log_->on_committed(1);
  EXPECT_EQ(*made(), 1u);
  executor_.run_until([this] { return log_->idle(); });
  const Log::Update update = log_->collect();
  ASSERT_TRUE(update.checkpoint.has_value());
  EXPECT_TRUE(update.checkpoint->status.ok()) << update.checkpoint->status.message();
  EXPECT_EQ(difference_at(copy(), 1), "");
  EXPECT_EQ(difference_at(copy() + "2", 1), "");
}

}  // namespace
}  // namespace perennial::store::cluster
