#include "cmd/perenniald/body_reads.h"

#include <array>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/store/temp_dir.h"

namespace perennial::perenniald {
namespace {

using store::Batch;

class BodyReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(uv_loop_init(&loop_), 0);
    store::Options options;
    options.data_dir = dir_.data_dir();
    Result<std::unique_ptr<store::Store>> opened = store::Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
    Batch batch;
    batch.add(TubeStored{.tube = 0, .name = "default"});
    for (const JobId id : {1, 2}) {
      const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = 5};
      batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, "hello");
    }
    write(batch);
  }

  void TearDown() override { EXPECT_EQ(uv_loop_close(&loop_), 0); }

  void write(Batch& batch) {
    ++last_index_;
    batch.seal(last_index_, last_index_ - 1, 5);
    ASSERT_TRUE(store_->write(batch, true).ok());
  }

  static Batch deletion_of(JobId id) {
    Batch batch;
    batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
    return batch;
  }

  // From here to let_pool_work() no read begins.
  void block_pool() {
    for (uv_work_t& request : blockers_) {
      request.data = &gate_;
      const auto wait = [](uv_work_t* blocked) {
        static_cast<std::shared_future<void>*>(blocked->data)->wait();
      };
      ASSERT_EQ(uv_queue_work(&loop_, &request, wait, nullptr), 0);
    }
  }
  void let_pool_work() {
    opener_.set_value();
    ASSERT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
  }

  const store::TempDir dir_;
  std::unique_ptr<store::Store> store_;
  BatchIndex last_index_ = 0;
  uv_loop_t loop_;
  std::promise<void> opener_;
  std::shared_future<void> gate_ = opener_.get_future().share();
  std::array<uv_work_t, 4> blockers_;     // As many as libuv's pool has threads.
  std::map<uint64_t, std::string> told_;  // Of each read.
  BodyReads reads_{loop_,
                   [this](const core::BodyRead& read, const Result<Body>& body) {
                     told_[read.read] = body.ok() ? std::string(body->view()) : "not found";
                   },
                   [](const Status& failed) { FAIL() << failed.message(); }};
};

TEST_F(BodyReadsTest, GiveWhatIsThere) {
  reads_.start(*store_, {.read = 7, .job = 1});
  reads_.start(*store_, {.read = 8, .job = 3});
  EXPECT_TRUE(reads_.busy());
  let_pool_work();
  EXPECT_FALSE(reads_.busy());
  EXPECT_EQ(told_, (std::map<uint64_t, std::string>{{7, "hello"}, {8, "not found"}}));
}

TEST_F(BodyReadsTest, GiveWhatWasThereBeforeABatchDeletedIt) {
  block_pool();
  reads_.start(*store_, {.read = 7, .job = 1});
  reads_.start(*store_, {.read = 8, .job = 2});
  reads_.start(*store_, {.read = 9, .job = 1});
  for (const JobId id : {1, 2}) {
    Batch batch = deletion_of(id);
    reads_.before_write(batch);
    write(batch);
  }
  reads_.start(*store_, {.read = 10, .job = 1});
  let_pool_work();
  EXPECT_EQ(told_, (std::map<uint64_t, std::string>{
                       {7, "hello"}, {8, "hello"}, {9, "hello"}, {10, "not found"}}));
}

// The test before this one would notice reads that nobody told of the batch.
TEST_F(BodyReadsTest, CannotKnowOfABatchThatTheyWereNotToldOf) {
  block_pool();
  reads_.start(*store_, {.read = 7, .job = 1});
  Batch batch = deletion_of(1);
  write(batch);
  let_pool_work();
  EXPECT_EQ(told_[7], "not found");
}

}  // namespace
}  // namespace perennial::perenniald
