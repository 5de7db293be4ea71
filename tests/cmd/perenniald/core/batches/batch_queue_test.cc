#include "cmd/perenniald/core/batches/batch_queue.h"

#include <deque>
#include <string>

#include <gtest/gtest.h>

namespace perennial::core {
namespace {

constexpr Nanos idle = 100;
constexpr size_t bytes_max = 1'000;

class BatchQueueTest : public testing::Test {
 protected:
  BatchQueueTest() { queue_.resume(2, 9); }

  // One input that puts a job.
  void put(Nanos now, size_t body_bytes = 1, bool promised = true) {
    const std::string body(body_bytes, 'x');
    queue_.begin_input(body.size(), now);
    const JobRow row = {.id = ++id_, .tube = 1, .body_bytes = static_cast<uint32_t>(body_bytes)};
    bodies_.push_back(body);
    queue_.add(JobMoved{.id = id_, .before = {}, .after = row, .promised = promised},
               bodies_.back());
  }

  BatchQueue queue_{{.bytes_max = bytes_max, .idle = idle}};
  JobId id_ = 0;
  std::deque<std::string> bodies_;
};

TEST_F(BatchQueueTest, ContinuesAfterTheLastBatchOnDisk) {
  EXPECT_TRUE(queue_.empty());
  EXPECT_TRUE(queue_.all_committed());
  EXPECT_EQ(queue_.open_index(), 10U);
  EXPECT_EQ(queue_.last_promised(), 9U);
  EXPECT_EQ(queue_.committed(), 9U);
  put(1);
  EXPECT_FALSE(queue_.all_committed());
  const store::Batch batch = queue_.take(1);
  EXPECT_EQ(batch.index(), 10U);
  EXPECT_EQ(batch.epoch(), 2U);
  EXPECT_EQ(queue_.open_index(), 11U);
}

TEST_F(BatchQueueTest, APromisedTransitionIsDueAtOnceWithoutACommitDelay) {
  EXPECT_FALSE(queue_.is_due(0, 0));
  EXPECT_FALSE(queue_.due_at(0).has_value());
  put(5);
  EXPECT_TRUE(queue_.is_due(5, 0));
  EXPECT_FALSE(queue_.is_due(5, 6));
  EXPECT_TRUE(queue_.is_due(6, 6));
  EXPECT_EQ(queue_.due_at(6), 6);
  EXPECT_EQ(queue_.due_at(0), 5 + idle);
}

TEST_F(BatchQueueTest, ARecoverableTransitionIsDueAfterTheIdleTime) {
  put(5, 1, false);
  EXPECT_EQ(queue_.last_promised(), 9U);
  EXPECT_FALSE(queue_.is_due(5 + idle - 1, 0));
  EXPECT_TRUE(queue_.is_due(5 + idle, 0));
  EXPECT_EQ(queue_.due_at(7), 5 + idle);
  put(6);
  EXPECT_EQ(queue_.last_promised(), 10U);
  EXPECT_TRUE(queue_.is_due(6, 0));
}

TEST_F(BatchQueueTest, ABodyThatDoesNotFitBeginsANewBatch) {
  put(1, 10);
  put(2, bytes_max);
  EXPECT_EQ(queue_.sealed_count(), 1U);
  EXPECT_TRUE(queue_.is_large());
  EXPECT_FALSE(queue_.next_is_open());
  put(3);  // The batch before it is full.
  EXPECT_EQ(queue_.sealed_count(), 2U);
  queue_.seal(3);
  for (const BatchIndex index : {10U, 11U, 12U}) {
    EXPECT_FALSE(queue_.has_taken(index));
    EXPECT_EQ(queue_.take(3).index(), index);
    EXPECT_TRUE(queue_.has_taken(index));
  }
  EXPECT_TRUE(queue_.empty());
}

TEST(BatchQueue, AnOpenBatchWithoutAPromisedTransitionIsNotLarge) {
  BatchQueue queue({.bytes_max = 1 << 20, .idle = idle});
  auto put = [&queue, id = JobId{0}](bool promised) mutable {
    queue.begin_input(0, 1);
    const JobRow row = {.id = ++id, .tube = 1};
    queue.add(JobMoved{.id = id, .before = {}, .after = row, .promised = promised}, {});
  };
  for (size_t n = 0; n <= store::small_batch_operations_max; ++n) put(false);
  EXPECT_FALSE(queue.is_large());
  put(true);
  EXPECT_TRUE(queue.is_large());
  EXPECT_TRUE(queue.next_is_open());
}

TEST_F(BatchQueueTest, BytesArePendingUntilTheirBatchIsCommitted) {
  put(1, 100);
  const size_t first = queue_.pending_bytes();
  EXPECT_GE(first, 100U);
  const store::Batch taken = queue_.take(1);
  put(2, 100);
  EXPECT_EQ(queue_.pending_bytes(), 2 * first);
  queue_.on_committed(10, 9);
  EXPECT_EQ(queue_.pending_bytes(), first);
  EXPECT_EQ(queue_.committed(), 10U);
  EXPECT_FALSE(queue_.all_committed());
  const store::Batch next = queue_.take(2);
  EXPECT_EQ(next.known_durable(), 9U);
  queue_.on_committed(11, 11);
  EXPECT_EQ(queue_.pending_bytes(), 0U);
  EXPECT_TRUE(queue_.all_committed());
}

TEST_F(BatchQueueTest, SealingAnEmptyBatchDoesNothing) {
  queue_.seal(1);
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.open_index(), 10U);
}

TEST_F(BatchQueueTest, ARecycledBatchIsEmpty) {
  put(1);
  queue_.recycle(queue_.take(1));
  put(2);
  queue_.seal(2);
  put(3);
  EXPECT_EQ(queue_.take(3).jobs().size(), 1U);
  EXPECT_EQ(queue_.take(3).jobs().size(), 1U);
}

}  // namespace
}  // namespace perennial::core
