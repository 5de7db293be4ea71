#include "store/commit/log_queue.h"

#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

constexpr Nanos ever = 3600 * nanos_per_second;

Batch sealed(BatchIndex index) {
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  batch.seal({.epoch = 1, .index = index, .known_durable = index - 1, .now = 1});
  return batch;
}

BatchIndex index_of(const std::optional<LogQueue::Item>& item) {
  const Batch* const batch = item ? std::get_if<Batch>(&*item) : nullptr;
  return batch != nullptr ? batch->index() : 0;
}

TEST(LogQueue, BatchesAndCheckpointsAreTakenInOrder) {
  LogQueue queue;
  queue.push(sealed(1));
  queue.push(LogQueue::CheckpointItem{"here"});
  queue.push(sealed(2));
  EXPECT_EQ(index_of(queue.take(ever)), 1U);
  const std::optional<LogQueue::Item> checkpoint = queue.take(ever);
  ASSERT_TRUE(checkpoint);
  ASSERT_TRUE(std::holds_alternative<LogQueue::CheckpointItem>(*checkpoint));
  EXPECT_EQ(std::get<LogQueue::CheckpointItem>(*checkpoint).dir, "here");
  EXPECT_EQ(index_of(queue.take(ever)), 2U);
  EXPECT_FALSE(queue.take(0));
}

TEST(LogQueue, IsIdleWhenAllTakenItemsAreDone) {
  LogQueue queue;
  EXPECT_TRUE(queue.idle());
  queue.push(sealed(1));
  queue.push(LogQueue::CheckpointItem{"here"});
  EXPECT_FALSE(queue.idle());
  EXPECT_TRUE(queue.take(ever));
  queue.done();
  EXPECT_FALSE(queue.idle()) << "the cut is still there";
  EXPECT_TRUE(queue.take(ever));
  EXPECT_FALSE(queue.idle()) << "it is at work";
  queue.done();
  EXPECT_TRUE(queue.idle());
  queue.block();
  EXPECT_FALSE(queue.idle());
}

TEST(LogQueue, ItemsPushedBeforeAStopAreTakenAfterIt) {
  LogQueue queue;
  queue.push(sealed(1));
  queue.stop();
  EXPECT_FALSE(queue.ended());
  EXPECT_EQ(index_of(queue.take(ever)), 1U);
  EXPECT_TRUE(queue.ended());
  EXPECT_FALSE(queue.take(ever)) << "it does not wait";
}

TEST(LogQueue, APushWakesTake) {
  LogQueue queue;
  BatchIndex taken = 0;
  bool ended = false;
  std::thread worker([&] {
    taken = index_of(queue.take(ever));
    queue.done();
    ended = !queue.take(ever) && queue.ended();
  });
  queue.push(sealed(7));
  while (!queue.idle()) std::this_thread::yield();
  queue.stop();
  worker.join();
  EXPECT_EQ(taken, 7U);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace perennial::store
