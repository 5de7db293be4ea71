// The thread that makes texts, and what the loop hears of it: one piece of work at a time, in
// order.
#include "cmd/perenniald/server/answer_worker.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace perennial::perenniald {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AnswerWorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(uv_loop_init(&loop_), 0);
    worker_.emplace(loop_);
  }
  void TearDown() override {
    worker_->close();
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }
  void start() {
    EXPECT_FALSE(worker_->cpu_time());
    worker_->start();
  }
  void give(int number, bool is_for_monitor = false, int steps = 1) {
    const auto step = [this, number, left = steps]() mutable {
      EXPECT_NE(std::this_thread::get_id(), loop_thread_);
      if (running_.fetch_add(1) != 0) overlaps_ = true;
      std::this_thread::yield();
      --running_;
      if (number == blocked_) {
        begun_.set_value();
        go_on_.get_future().wait();
      }
      steps_.push_back(number);
      return --left == 0;
    };
    const auto on_done = [this, number] {
      EXPECT_EQ(std::this_thread::get_id(), loop_thread_);
      ended_.push_back(number);
      if (number == 2) give(4);  // The end of an answer may begin the next one.
    };
    worker_->run({.step = step, .on_done = on_done, .is_for_monitor = is_for_monitor});
  }
  void run_until_ended(size_t count) {
    while (ended_.size() < count) uv_run(&loop_, UV_RUN_ONCE);
  }

  uv_loop_t loop_;
  std::optional<AnswerWorker> worker_;
  const std::thread::id loop_thread_ = std::this_thread::get_id();
  std::atomic<int> running_ = 0;
  std::atomic<bool> overlaps_ = false;
  std::vector<int> steps_;  // The thread's, until it has ended or has nothing to do.
  int blocked_ = 0;         // The work that waits for go_on_.
  std::promise<void> begun_;
  std::promise<void> go_on_;
  std::vector<int> ended_;
};

TEST_F(AnswerWorkerTest, WorksOnOneAtATimeInOrder) {
  start();
  for (const int number : {1, 2, 3}) give(number);
  EXPECT_THAT(ended_, IsEmpty());
  run_until_ended(4);
  EXPECT_THAT(ended_, ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(overlaps_);
  EXPECT_GT(worker_->cpu_time(), 0);
  give(5);
  run_until_ended(5);
  EXPECT_THAT(ended_, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(AnswerWorkerTest, YieldsToOtherThreads) {
  start();
  std::atomic<int> nice = 0;
  const auto step = [&] {
    nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
    return true;
  };
  worker_->run({.step = step, .on_done = [&] { ended_.push_back(1); }});
  run_until_ended(1);
  // The tests themselves may run at any priority; 19 is the last one.
  const int own = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  EXPECT_EQ(nice, std::min(own + 10, 19));
}

// It waits for what was begun, and nobody hears of that, nor of what waited. Whether close() or the
// end of the work comes first is left to the system: both are to be right.
TEST_F(AnswerWorkerTest, EndsWithItsWork) {
  start();
  blocked_ = 1;
  give(1);
  const auto kept = std::make_shared<int>();
  worker_->run({.step = [kept] { return true; }, .on_done = [kept] {}});
  begun_.get_future().wait();
  std::thread other([this] { go_on_.set_value(); });
  worker_->close();
  other.join();
  EXPECT_THAT(steps_, ElementsAre(1));
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
  EXPECT_THAT(ended_, IsEmpty());
}

// Whoever watches over the server waits for no long text, and holds none up.
TEST_F(AnswerWorkerTest, TakesTurnsBetweenMonitorsAndOthers) {
  start();
  blocked_ = 9;
  give(9);  // Meanwhile the others come.
  begun_.get_future().wait();
  give(1, false, 4);
  give(2, false, 1);
  give(7, true, 3);
  give(8, true, 1);
  go_on_.set_value();
  run_until_ended(6);
  EXPECT_THAT(steps_, ElementsAre(9, 7, 1, 7, 1, 7, 1, 8, 1, 2, 4));
  EXPECT_THAT(ended_, ElementsAre(9, 7, 8, 1, 2, 4));
}

TEST_F(AnswerWorkerTest, EndsIfItWasNotStarted) {
  worker_->close();
  EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
}

}  // namespace
}  // namespace perennial::perenniald
