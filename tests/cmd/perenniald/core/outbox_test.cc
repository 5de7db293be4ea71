#include "cmd/perenniald/core/outbox.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace perennial::core {
namespace {

TEST(Outbox, ReleasesInOrderWhatIsAnswerable) {
  Outbox outbox;
  outbox.push(1, "a");
  outbox.push(1, "b");
  outbox.push(3, "c");
  EXPECT_EQ(outbox.ready(), "");
  outbox.release(2);
  EXPECT_EQ(outbox.ready(), "ab");
  outbox.release(3);
  EXPECT_EQ(outbox.ready(), "abc");
  EXPECT_EQ(outbox.bytes(), 3u);
  outbox.consume(2);
  EXPECT_EQ(outbox.ready(), "c");
  outbox.consume(1);
  EXPECT_TRUE(outbox.empty());
}

TEST(Outbox, HoldsEverythingBehindASlotUntilItIsFilled) {
  Outbox outbox;
  outbox.push(0, "a");
  const uint64_t slot = outbox.open_slot(0, 100);
  outbox.push(0, "c");
  outbox.release(0);
  EXPECT_EQ(outbox.ready(), "a");
  EXPECT_EQ(outbox.bytes(), 102u);  // A slot's bytes count at once.
  outbox.fill_slot(slot, "bb");
  outbox.release(0);
  EXPECT_EQ(outbox.ready(), "abbc");
  EXPECT_EQ(outbox.bytes(), 4u);
}

TEST(Outbox, ASlotWaitsForItsBatchAlsoWhenItIsFilled) {
  Outbox outbox;
  const uint64_t slot = outbox.open_slot(2, 1);
  outbox.fill_slot(slot, "x");
  outbox.release(1);
  EXPECT_EQ(outbox.ready(), "");
  outbox.release(2);
  EXPECT_EQ(outbox.ready(), "x");
}

TEST(Outbox, FillsSlotsInAnyOrder) {
  Outbox outbox;
  const uint64_t first = outbox.open_slot(1, 1);
  const uint64_t second = outbox.open_slot(1, 1);
  outbox.release(1);
  outbox.fill_slot(second, "2");
  outbox.release(1);
  EXPECT_EQ(outbox.ready(), "");
  outbox.fill_slot(first, "1");
  outbox.release(1);
  EXPECT_EQ(outbox.ready(), "12");
}

TEST(Outbox, CountsWhatWasTakenUntilItHasLeft) {
  Outbox outbox;
  outbox.push(0, "abc");
  outbox.release(0);
  outbox.consume(1);
  EXPECT_EQ(outbox.take_ready().view(), "bc");
  EXPECT_EQ(outbox.bytes(), 2u);
  EXPECT_FALSE(outbox.empty());
  outbox.push(0, "d");
  outbox.release(0);
  outbox.consume(2);
  EXPECT_EQ(outbox.ready(), "d");
  EXPECT_EQ(outbox.bytes(), 1u);
}

// A body of a gigabyte takes half a second for each copy.
TEST(Outbox, CopiesNoBodyThatLeavesByItself) {
  Outbox outbox;
  const uint64_t slot = outbox.open_slot(0, 100'000);
  std::string body(100'000, 'x');
  const char* const bytes = body.data();
  outbox.fill_slot(slot, std::move(body));
  outbox.release(0);
  EXPECT_EQ(outbox.ready().data(), bytes);
  outbox.consume(10);
  const Taken taken = outbox.take_ready();
  EXPECT_EQ(taken.view().data(), bytes + 10);
  EXPECT_EQ(taken.view().size(), 99'990u);
  EXPECT_EQ(outbox.bytes(), 99'990u);
  outbox.consume(99'990);
  EXPECT_TRUE(outbox.empty());
}

// Long runs of held replies, released one batch at a time, come out whole.
TEST(Outbox, KeepsALongBacklogInOrder) {
  Outbox outbox;
  std::string wanted;
  for (BatchIndex batch = 1; batch <= 1000; ++batch) {
    const std::string text = std::to_string(batch) + " ";
    wanted += text;
    outbox.push(batch, text);
  }
  std::string got;
  for (BatchIndex batch = 1; batch <= 1000; ++batch) {
    outbox.release(batch);
    got += outbox.ready();
    outbox.consume(outbox.ready().size());
  }
  EXPECT_EQ(got, wanted);
  EXPECT_TRUE(outbox.empty());
}

TEST(OutboxDeathTest, RefusesATagBelowTheOneBefore) {
  Outbox outbox;
  outbox.push(5, "a");
  EXPECT_DEATH(outbox.push(4, "b"), "after");
}

}  // namespace
}  // namespace perennial::core
