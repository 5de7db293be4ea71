#include "cmd/perenniald/server/bodies/body_reads.h"

#include <array>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
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
    open();
    Batch batch;
    batch.add(TubeStored{.tube = 0, .name = "default"});
    add(batch, 1, "hello");
    add(batch, 2, "hello");
    write(batch);
    // Flushes, so that no body is in a memtable.
    ASSERT_TRUE(store_->flush().ok());
    store_.reset();
    open();
  }

  void TearDown() override { EXPECT_EQ(uv_loop_close(&loop_), 0); }

  void open() {
    store::Options options;
    options.data_dir = dir_.data_dir();
    Result<std::unique_ptr<store::Store>> opened = store::Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
  }

  static void add(Batch& batch, JobId id, std::string_view body) {
    const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body.size())};
    batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
  }

  void start(JobId job, size_t body_bytes = 5) {
    reads_.start(*store_, {.job = job, .body_bytes = body_bytes});
  }

  void write(Batch& batch) {
    ++last_index_;
    batch.seal({.epoch = store_->opening().epoch,
                .index = last_index_,
                .known_durable = last_index_ - 1,
                .now = 5});
    ASSERT_TRUE(store_->write(batch, true).ok());
  }

  static Batch deletion_of(JobId id) {
    Batch batch;
    batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
    return batch;
  }

  // From here to let_pool_work() no read begins on the pool.
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
  std::map<JobId, std::string> results_;  // The result for each job.
  BodyReads reads_{loop_,
                   [this](const core::BodyRead& read, const Result<Body>& body) {
                     results_[read.job] = body.ok() ? std::string(body->view()) : "not found";
                   },
                   [](const Status& failed) { FAIL() << failed.message(); }};
};

TEST_F(BodyReadsTest, ReturnABodyOnDisk) {
  start(1);
  start(3);
  EXPECT_TRUE(reads_.busy());
  let_pool_work();
  EXPECT_FALSE(reads_.busy());
  EXPECT_EQ(results_, (std::map<JobId, std::string>{{1, "hello"}, {3, "not found"}}));
}

TEST_F(BodyReadsTest, ReturnABodyInMemoryAtOnce) {
  // The first read brings the block with its neighbour into the block cache.
  start(1);
  EXPECT_EQ(results_.size(), 0u);
  let_pool_work();
  start(2);
  EXPECT_EQ(results_[2], "hello");
  // The body is in a memtable.
  Batch batch;
  add(batch, 3, "world");
  write(batch);
  start(3);
  EXPECT_EQ(results_[3], "world");
  EXPECT_FALSE(reads_.busy());
}

TEST_F(BodyReadsTest, DoNotBlockTheLoopWithALargeBody) {
  constexpr size_t at_once_bytes_max = 16 << 10;
  const std::string largest(at_once_bytes_max, 'x');
  const std::string larger = largest + 'x';
  Batch batch;
  add(batch, 3, largest);
  add(batch, 4, larger);
  write(batch);
  start(3, largest.size());
  EXPECT_EQ(results_[3], largest);
  start(4, larger.size());
  EXPECT_TRUE(reads_.busy());
  let_pool_work();
  EXPECT_EQ(results_[4], larger);
}

TEST_F(BodyReadsTest, ReturnABodyThatABatchDeletesMeanwhile) {
  block_pool();
  start(1);
  start(2);
  for (const JobId id : {1, 2}) {
    Batch batch = deletion_of(id);
    reads_.before_write(batch);
    write(batch);
  }
  start(3);
  let_pool_work();
  EXPECT_EQ(results_, (std::map<JobId, std::string>{{1, "hello"}, {2, "hello"}, {3, "not found"}}));
}

// Shows that the test above would fail if before_write() were not called.
TEST_F(BodyReadsTest, WithoutBeforeWriteADeletedBodyIsNotFound) {
  block_pool();
  start(1);
  Batch batch = deletion_of(1);
  write(batch);
  let_pool_work();
  EXPECT_EQ(results_[1], "not found");
}

}  // namespace
}  // namespace perennial::perenniald
