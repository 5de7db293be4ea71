#include "cmd/perenniald/core/batches/commit_delay.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

constexpr Nanos ms = nanos_per_ms;

// Two batches that took this long were answered, the second at time 100 to this many clients.
CommitDelay after_two(Nanos took, size_t clients) {
  CommitDelay delay;
  delay.expect(clients, took, 90);
  delay.on_taken();
  delay.expect(clients, took, 100);
  return delay;
}

TEST(CommitDelay, WaitsForHalfASlowSync) {
  EXPECT_EQ(after_two(4 * ms, 3).until(), 100 + 2 * ms);
  EXPECT_EQ(after_two(20 * ms, 3).until(), 100 + 10 * ms);
}

TEST(CommitDelay, DoesNotWaitWhenSyncsAreQuick) {
  EXPECT_EQ(after_two(ms - 1, 3).until(), 0);
  EXPECT_EQ(after_two(0, 3).until(), 0);
}

TEST(CommitDelay, DoesNotWaitWithoutAwaitedClients) {
  EXPECT_EQ(after_two(4 * ms, 0).until(), 0);
}

TEST(CommitDelay, UsesTheQuickerOfTwoSyncs) {
  CommitDelay delay;
  delay.expect(3, 400 * ms, 0);
  EXPECT_EQ(delay.until(), 0);  // One measurement is not enough.
  delay.expect(3, 4 * ms, 100);
  EXPECT_EQ(delay.until(), 100 + 2 * ms);
  delay.expect(3, 400 * ms, 200);
  EXPECT_EQ(delay.until(), 200 + 2 * ms);
}

TEST(CommitDelay, EndsWhenAllAwaitedClientsHaveCome) {
  CommitDelay delay = after_two(4 * ms, 2);
  delay.on_one();
  EXPECT_EQ(delay.until(), 100 + 2 * ms);
  delay.on_one();
  EXPECT_EQ(delay.until(), 0);
}

// How many of the next batches go without a delay.
int skipped(CommitDelay& delay) {
  int count = 0;
  for (;; ++count) {
    delay.expect(8, 4 * ms, 100);
    if (delay.until() != 0) return count;
    delay.on_taken();
  }
}

TEST(CommitDelay, SkipsMoreBatchesEachTimeThatClientsStayAway) {
  CommitDelay delay = after_two(4 * ms, 4);
  for (const int want : {2, 4, 8, 16, 32, 64, 64}) {
    delay.on_one();  // One of four.
    delay.on_taken();
    EXPECT_EQ(skipped(delay), want);
  }
}

TEST(CommitDelay, WaitsAgainWhenNearlyAllClientsHaveCome) {
  CommitDelay delay = after_two(4 * ms, 4);
  for (int i = 0; i < 3; ++i) {
    delay.on_taken();
    skipped(delay);
  }
  for (int i = 0; i < 7; ++i) delay.on_one();
  delay.on_taken();
  EXPECT_EQ(skipped(delay), 0);
  delay.on_taken();
  EXPECT_EQ(skipped(delay), 2);
}

constexpr const char* a_put = "put 0 0 1 1\r\na\r\n";

class SlowDisk : public testing::Test {
 protected:
  SlowDisk() {
    harness_.set_committing(false);
    harness_.set_commits_take(4 * ms);
    for (int i = 0; i < 2; ++i) {
      harness_.send(one_, a_put);
      harness_.commit();
    }
  }

  bool is_due() { return harness_.core().batch_due(harness_.now()); }

  CoreHarness harness_;
  const ConnId one_ = harness_.open();
  const ConnId other_ = harness_.open();
};

TEST_F(SlowDisk, ABatchWaitsForTheClientThatWasAnswered) {
  harness_.send(other_, a_put);
  EXPECT_FALSE(is_due());
  EXPECT_EQ(harness_.core().next_deadline(), harness_.now() + 2 * ms);
  harness_.send(one_, a_put);
  EXPECT_TRUE(is_due());
}

TEST_F(SlowDisk, ABatchWaitsForHalfASyncAtMost) {
  harness_.send(other_, a_put);
  harness_.skip(2 * ms - 1);
  EXPECT_FALSE(is_due());
  harness_.skip(1);
  EXPECT_TRUE(is_due());
}

// Half of a sync may be longer than the idle time.
TEST_F(SlowDisk, TheIdleTimeEndsTheCommitDelay) {
  harness_.set_commits_take(400 * ms);
  for (int i = 0; i < 2; ++i) {
    harness_.send(one_, a_put);
    harness_.commit();
  }
  harness_.send(other_, a_put);
  const Nanos due = harness_.now() + Options().sync_idle;
  EXPECT_EQ(harness_.core().next_deadline(), due);
  harness_.skip(due - harness_.now() - 1);
  EXPECT_FALSE(is_due());
  harness_.skip(1);
  EXPECT_TRUE(is_due());
}

TEST_F(SlowDisk, TheOnlyClientIsNotDelayed) {
  harness_.send(one_, a_put);
  EXPECT_TRUE(is_due());
}

TEST_F(SlowDisk, AClientThatWasNotAnsweredDoesNotEndTheDelay) {
  harness_.send(other_, a_put);
  harness_.send(harness_.open(), a_put);
  EXPECT_FALSE(is_due());
}

TEST_F(SlowDisk, AClientWithATransitionInTheOpenBatchIsNotAwaited) {
  harness_.send(one_, a_put);
  const store::Batch first = harness_.core().take_batch(harness_.now());
  harness_.send(other_, a_put);
  harness_.core().on_committed(first.index(), first.index(), harness_.now(), 4 * ms);
  EXPECT_FALSE(is_due());  // It waits for the first client.
  harness_.send(one_, a_put);
  EXPECT_TRUE(is_due());
}

// On disks of any speed, the loop polls its sockets once more for awaited clients.
class AwaitedClients : public testing::Test {
 protected:
  AwaitedClients() {
    harness_.set_committing(false);
    for (const ConnId id : {one_, other_}) harness_.send(id, a_put);
    harness_.commit();
  }
  size_t awaited() { return harness_.core().awaited_clients(); }

  CoreHarness harness_;
  const ConnId one_ = harness_.open();
  const ConnId other_ = harness_.open();
};

TEST_F(AwaitedClients, AClientIsAwaitedUntilItsNextCommand) {
  harness_.send(harness_.open(), a_put);
  EXPECT_EQ(awaited(), 2u);
  harness_.send(one_, a_put);
  EXPECT_EQ(awaited(), 1u);
  harness_.send(other_, a_put);
  EXPECT_EQ(awaited(), 0u);
}

TEST_F(AwaitedClients, NoClientIsAwaitedWithoutAPromisedTransition) {
  EXPECT_EQ(awaited(), 0u);
  harness_.send(one_, "watch other\r\n");  // Creates a tube, which is a recoverable transition.
  EXPECT_EQ(awaited(), 0u);
}

TEST_F(AwaitedClients, NoClientIsAwaitedForALargeBatch) {
  std::string puts;
  for (int i = 0; i < 1'000; ++i) puts += a_put;
  EXPECT_FALSE(harness_.core().batch_is_large());
  harness_.send(one_, puts);
  EXPECT_TRUE(harness_.core().batch_is_large());
  EXPECT_EQ(awaited(), 0u);
}

}  // namespace
}  // namespace perennial::core
