// Answers that a worker goes on with. The worker of these tests does its work when a test says so,
// on the same thread, so each order of what the loop and a worker do is chosen, and none is left to
// luck; what two threads do to each other's memory is seen by the server's tests with TSan.
#include "cmd/perenniald/http/apart_answer.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/gzip_answer.h"
#include "tests/cmd/perenniald/http/fake_workers.h"

namespace perennial::http {
namespace {

using Step = Answer::Step;
using testing::ElementsAre;

// What an answer was asked, in order.
using Calls = std::vector<std::string>;

// Does the steps that it is told, and is apart behind the first `own`.
class Told final : public Answer {
 public:
  Told(std::vector<Step> steps, size_t own, Calls& calls)
      : steps_(std::move(steps)), own_(own), calls_(calls) {}
  ~Told() override { calls_.push_back("end"); }

  Step step() override {
    calls_.push_back("step");
    if (on_step) on_step();
    return steps_.at(done_++);
  }
  Response take() override {
    calls_.push_back("take");
    return {.content_type = "text/plain", .body = "hello"};
  }
  bool is_apart() const override { return done_ >= own_; }

  std::function<void()> on_step;

 private:
  const std::vector<Step> steps_;
  const size_t own_;
  Calls& calls_;
  size_t done_ = 0;
};

class ApartAnswerTest : public testing::Test {
 protected:
  Told& make(std::vector<Step> steps, size_t own) {
    auto told = std::make_unique<Told>(std::move(steps), own, calls_);
    Told& made = *told;
    make(std::move(told));
    return made;
  }
  void make(std::unique_ptr<Answer> answer, bool is_for_monitor = false) {
    answer_ = make_apart_answer(std::move(answer), is_for_monitor, workers_);
    answer_->wake = [this] { ++wakes_; };
  }

  Calls calls_;
  FakeWorkers workers_;
  std::unique_ptr<Answer> answer_;
  int wakes_ = 0;
};

TEST_F(ApartAnswerTest, IsMadeByAWorkerOnceItIsApart) {
  make({Step::Again, Step::Again, Step::Again, Step::Whole}, 2);
  EXPECT_EQ(answer_->step(), Step::Again);
  EXPECT_EQ(answer_->step(), Step::Again);
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  EXPECT_THAT(calls_, ElementsAre("step", "step"));
  EXPECT_EQ(answer_->step(), Step::Elsewhere);  // It is handed over once.
  ASSERT_EQ(workers_.given(), 1U);
  workers_.work();
  EXPECT_THAT(calls_, ElementsAre("step", "step", "step", "step", "take", "end"));
  EXPECT_EQ(answer_->step(), Step::Elsewhere);  // The loop has not heard of it.
  EXPECT_EQ(wakes_, 0);
  workers_.end();
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(answer_->step(), Step::Whole);
  EXPECT_EQ(answer_->take().body, "hello");
}

TEST_F(ApartAnswerTest, IsMadeHereIfItNeedsTheLoop) {
  make({Step::Again, Step::Waits, Step::Whole}, 100).on_step = [this] { answer_->wake(); };
  EXPECT_EQ(answer_->step(), Step::Again);
  EXPECT_EQ(answer_->step(), Step::Waits);
  EXPECT_EQ(answer_->step(), Step::Whole);
  EXPECT_EQ(answer_->take().body, "hello");
  EXPECT_EQ(workers_.given(), 0U);
}

TEST_F(ApartAnswerTest, WakesWhoeverWaitsForIt) {
  Told& told = make({Step::Waits, Step::Whole}, 100);
  EXPECT_EQ(answer_->step(), Step::Waits);
  told.wake();
  EXPECT_EQ(wakes_, 1);
}

// Those that wait for one of the places of long answers have done one step.
TEST_F(ApartAnswerTest, DoesItsFirstStepHere) {
  make({Step::Again, Step::Whole}, 0);
  EXPECT_EQ(answer_->step(), Step::Again);
  EXPECT_EQ(workers_.given(), 0U);
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  EXPECT_EQ(workers_.given(), 1U);
}

TEST_F(ApartAnswerTest, OfOneStepIsWholeAtOnce) {
  make({Step::Whole}, 0);
  EXPECT_EQ(answer_->step(), Step::Whole);
  EXPECT_EQ(answer_->take().body, "hello");
  EXPECT_EQ(workers_.given(), 0U);
}

TEST_F(ApartAnswerTest, IsFreedAtOnceIfItIsGivenUpBeforeAWorkerBegins) {
  make({Step::Again, Step::Whole}, 1);
  answer_->step();
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  answer_.reset();
  EXPECT_THAT(calls_, ElementsAre("step", "end"));
  workers_.work();
  workers_.end();
  EXPECT_THAT(calls_, ElementsAre("step", "end"));
  EXPECT_EQ(wakes_, 0);
}

TEST_F(ApartAnswerTest, IsNotGoneOnWithIfItIsGivenUpMeanwhile) {
  Told& told = make({Step::Again, Step::Again, Step::Again, Step::Whole}, 1);
  answer_->step();
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  told.on_step = [this] {
    answer_.reset();
    EXPECT_THAT(calls_, ElementsAre("step", "step"));  // The worker has it.
  };
  EXPECT_FALSE(workers_.step());
  EXPECT_TRUE(workers_.step());
  EXPECT_THAT(calls_, ElementsAre("step", "step", "end"));
  workers_.end();
  EXPECT_EQ(wakes_, 0);
}

TEST_F(ApartAnswerTest, IsNotGoneOnWithIfItIsGivenUpBetweenTwoSteps) {
  make({Step::Again, Step::Again, Step::Whole}, 1);
  answer_->step();
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  EXPECT_FALSE(workers_.step());
  answer_.reset();
  EXPECT_THAT(calls_, ElementsAre("step", "step"));
  EXPECT_TRUE(workers_.step());
  EXPECT_THAT(calls_, ElementsAre("step", "step", "end"));
  workers_.end();
  EXPECT_EQ(wakes_, 0);
}

TEST_F(ApartAnswerTest, TellsWorkersForWhomItIs) {
  for (const bool is_for_monitor : {false, true}) {
    make(std::make_unique<Told>(std::vector{Step::Again, Step::Whole}, 0, calls_), is_for_monitor);
    answer_->step();
    answer_->step();
    EXPECT_EQ(workers_.is_for_monitor(), is_for_monitor);
    workers_.work();
    workers_.end();
  }
}

TEST_F(ApartAnswerTest, IsGivenUpBetweenTheWorkAndTheNewsOfIt) {
  make({Step::Again, Step::Whole}, 1);
  answer_->step();
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  workers_.work();
  answer_.reset();
  workers_.end();
  EXPECT_EQ(wakes_, 0);
}

// A text of one step that is packed: the text is made here, and the packing is not.
TEST_F(ApartAnswerTest, IsPackedByAWorker) {
  const Response text = {.content_type = "text/plain", .body = std::string(1'000'000, 'x')};
  const std::unique_ptr<Answer> here = make_gzip_answer(answer_now(text));
  while (here->step() != Step::Whole) continue;
  make(make_gzip_answer(answer_now(text)));
  EXPECT_EQ(answer_->step(), Step::Again);
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  workers_.work();
  workers_.end();
  EXPECT_EQ(answer_->step(), Step::Whole);
  const Response packed = answer_->take();
  EXPECT_LT(packed.body.size(), 10'000U);
  EXPECT_TRUE(packed.body == here->take().body);
}

// The same of a text that is apart itself: both are a worker's.
TEST_F(ApartAnswerTest, IsMadeAndPackedByAWorker) {
  auto told = std::make_unique<Told>(std::vector{Step::Again, Step::Again, Step::Whole}, 1, calls_);
  make(make_gzip_answer(std::move(told)));
  EXPECT_EQ(answer_->step(), Step::Again);
  EXPECT_EQ(answer_->step(), Step::Elsewhere);
  workers_.work();
  workers_.end();
  EXPECT_EQ(answer_->step(), Step::Whole);
  EXPECT_EQ(answer_->take().body, "hello");  // It is too short to be packed.
  EXPECT_THAT(calls_, ElementsAre("step", "step", "step", "take", "end"));
}

}  // namespace
}  // namespace perennial::http
