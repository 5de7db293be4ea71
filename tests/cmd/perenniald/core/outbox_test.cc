#include "cmd/perenniald/core/outbox.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::core {
namespace {

TEST(Outbox, ReleasesInOrderUpToTheCommittedBatch) {
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

TEST(Outbox, HoldsLaterRepliesUntilASlotIsFilled) {
  Outbox outbox;
  outbox.push(0, "a");
  const uint64_t slot = outbox.open_slot(0, 100);
  outbox.push(0, "c");
  outbox.release(0);
  EXPECT_EQ(outbox.ready(), "a");
  EXPECT_EQ(outbox.bytes(), 102u);  // A slot's bytes count from its opening.
  outbox.fill_slot(slot, "b", Body(), "b");
  outbox.release(0);
  EXPECT_EQ(outbox.ready(), "abbc");
  EXPECT_EQ(outbox.bytes(), 4u);
}

TEST(Outbox, AFilledSlotStillWaitsForItsBatch) {
  Outbox outbox;
  const uint64_t slot = outbox.open_slot(2, 1);
  outbox.fill_slot(slot, "x", Body(), "");
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
  outbox.fill_slot(second, "2", Body(), "");
  outbox.release(1);
  EXPECT_EQ(outbox.ready(), "");
  outbox.fill_slot(first, "1", Body(), "");
  outbox.release(1);
  EXPECT_EQ(outbox.ready(), "12");
}

// Takes everything that may leave, in pieces of at most this many bytes.
std::string drain(Outbox& outbox, size_t bytes_max) {
  std::string all;
  while (!outbox.ready().empty()) {
    const std::string_view some = outbox.ready().substr(0, bytes_max);
    all += some;
    outbox.consume(some.size());
  }
  return all;
}

// A copy of a body of a gigabyte takes half a second.
TEST(Outbox, CopiesNoSharedBody) {
  MemoryBudget budget({});
  SharedBodies shared_bodies(budget, 1 << 20);
  const Body body(std::string(100'000, 'x'));
  Outbox outbox;
  const uint64_t slot = outbox.open_slot(0, 100'000);
  outbox.push(0, "head ", shared_bodies.share(1, body.share(), false), "\r\n");
  outbox.fill_slot(slot, "read ", shared_bodies.find(1), "\r\n");
  EXPECT_EQ(outbox.bytes(), 2 * 100'007u);
  outbox.release(0);
  for (const std::string_view head : {"read ", "\r\nhead "}) {
    EXPECT_EQ(outbox.ready(), head);
    outbox.consume(head.size());
    EXPECT_EQ(outbox.ready().data(), body.view().data());
    outbox.consume(10);
    EXPECT_EQ(outbox.ready().size(), 99'990u);
    outbox.consume(99'990);
  }
  EXPECT_EQ(outbox.bytes(), 2u);
  EXPECT_EQ(drain(outbox, 10), "\r\n");
  EXPECT_TRUE(outbox.empty());
}

// Small and large bodies, from memory and from reads, and answers without a body. Some become ready
// while the first is being sent.
TEST(Outbox, KeepsTheOrderOfBodiesAndText) {
  const Body large(std::string(50'000, 'g'));
  const Body small("small");
  MemoryBudget budget({});
  SharedBodies shared_bodies(budget, 1 << 20);
  const SharedBodies::SharedBody shared = shared_bodies.share(1, large.share(), false);
  for (const size_t bytes_max : {size_t{1'000}, size_t{7'919}, SIZE_MAX}) {
    Outbox outbox;
    std::string wanted;
    std::string got;
    std::vector<std::pair<uint64_t, const Body*>> slots;
    for (BatchIndex batch = 1; batch <= 300; ++batch) {
      const std::string text = std::to_string(batch) + ";";
      const Body& body = batch % 3 == 0 ? large : small;
      if (batch % 2 == 0) {
        if (&body == &large) {
          outbox.push(batch, text, shared_bodies.find(1), "|");
        } else {
          outbox.push(batch, text, body, "|");
        }
        wanted.append(text).append(body.view()).append("|");
      } else if (batch % 5 == 0) {
        slots.emplace_back(outbox.open_slot(batch, body.size()), &body);
        wanted.append("slot").append(body.view()).append("|");
      } else {
        outbox.push(batch, text);
        wanted += text;
      }
      if (batch % 20 != 0) continue;
      for (; !slots.empty(); slots.pop_back()) {
        if (slots.back().second == &large) {
          outbox.fill_slot(slots.back().first, "slot", shared_bodies.find(1), "|");
        } else {
          outbox.fill_slot(slots.back().first, "slot", *slots.back().second, "|");
        }
      }
      outbox.release(batch - 7);
      got += outbox.ready().substr(0, bytes_max);
      outbox.consume(std::min(bytes_max, outbox.ready().size()));
    }
    outbox.release(300);
    got += drain(outbox, bytes_max);
    EXPECT_TRUE(got == wanted) << bytes_max;
    EXPECT_TRUE(outbox.empty());
    EXPECT_LT(outbox.memory_bytes(), 128u << 10);
  }
}

TEST(Outbox, CountsMemoryWithoutSharedBodiesAndOpenSlots) {
  MemoryBudget budget({});
  SharedBodies shared_bodies(budget, 1 << 20);
  Outbox outbox;
  outbox.push(0, "", shared_bodies.share(1, Body(std::string(100'000, 'x')), false), "\r\n");
  const uint64_t slot = outbox.open_slot(0, 50'000);
  EXPECT_EQ(outbox.bytes(), 150'002u);
  EXPECT_EQ(outbox.own_bytes(), 2u);
  outbox.release(0);
  outbox.consume(60'000);
  EXPECT_EQ(outbox.bytes(), 90'002u);
  EXPECT_EQ(outbox.own_bytes(), 2u);
  EXPECT_LT(outbox.memory_bytes(), 2'000u);
  EXPECT_EQ(budget.used().answers, 100'000u);
  outbox.consume(40'000);
  EXPECT_EQ(budget.used().answers, 0u);
  outbox.fill_slot(slot, "", Body(std::string(1'000, 'x')), "");
  EXPECT_EQ(outbox.own_bytes(), 1'002u);
  EXPECT_GE(outbox.memory_bytes(), 1'002u);
}

// Many held replies are released one batch at a time, and none is lost.
TEST(Outbox, KeepsManyHeldRepliesInOrder) {
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

// The client asks a little faster than it reads, so some bytes always wait.
TEST(Outbox, FreesWhatHasLeftEvenIfItIsNeverEmpty) {
  const std::string reply(2'000, 'x');
  Outbox outbox;
  outbox.push(0, reply);
  for (int i = 0; i < 10'000; ++i) {
    outbox.push(0, reply);
    outbox.release(0);
    outbox.consume(reply.size());
    ASSERT_LE(outbox.memory_bytes(), 32u << 10);
  }
  EXPECT_EQ(outbox.bytes(), reply.size());
}

// The same where each reply waits for a batch of its own, and one reply is always held.
TEST(Outbox, FreesWhatWasReleasedEvenIfOneReplyIsAlwaysHeld) {
  const std::string reply(100'000, 'x');
  Outbox outbox;
  outbox.push(1, reply);
  for (BatchIndex batch = 2; batch < 200; ++batch) {
    outbox.push(batch, reply);
    outbox.release(batch - 1);
    outbox.consume(outbox.ready().size());
    ASSERT_LE(outbox.memory_bytes(), 8 * reply.size());
  }
  EXPECT_EQ(outbox.bytes(), reply.size());
}

TEST(OutboxDeathTest, ABatchBelowTheOneBeforeIsRefused) {
  Outbox outbox;
  outbox.push(5, "a");
  EXPECT_DEATH(outbox.push(4, "b"), "after");
}

}  // namespace
}  // namespace perennial::core
