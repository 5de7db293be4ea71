#include "cmd/perenniald/core/company.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

constexpr Nanos ms = nanos_per_ms;

// Two batches that took this long have been answered, the second to so many clients at time 100.
Company after_two(Nanos took, size_t clients) {
  Company company;
  company.expect(clients, took, 90);
  company.on_taken();
  company.expect(clients, took, 100);
  return company;
}

TEST(Company, WaitsForHalfASlowSync) {
  EXPECT_EQ(after_two(4 * ms, 3).until(), 100 + 2 * ms);
  EXPECT_EQ(after_two(20 * ms, 3).until(), 100 + 10 * ms);
}

TEST(Company, DoesNotWaitWhenSyncsAreQuick) {
  EXPECT_EQ(after_two(ms - 1, 3).until(), 0);
  EXPECT_EQ(after_two(0, 3).until(), 0);
}

TEST(Company, DoesNotWaitForNobody) {
  EXPECT_EQ(after_two(4 * ms, 0).until(), 0);
}

TEST(Company, TakesTheQuickerOfTwoSyncs) {
  Company company;
  company.expect(3, 400 * ms, 0);
  EXPECT_EQ(company.until(), 0);  // The first is no measure.
  company.expect(3, 4 * ms, 100);
  EXPECT_EQ(company.until(), 100 + 2 * ms);
  company.expect(3, 400 * ms, 200);
  EXPECT_EQ(company.until(), 200 + 2 * ms);
}

TEST(Company, IsCompleteWhenAllHaveCome) {
  Company company = after_two(4 * ms, 2);
  company.on_one();
  EXPECT_EQ(company.until(), 100 + 2 * ms);
  company.on_one();
  EXPECT_EQ(company.until(), 0);
}

// How many of the next batches go at once.
int skipped(Company& company) {
  int count = 0;
  for (;; ++count) {
    company.expect(8, 4 * ms, 100);
    if (company.until() != 0) return count;
    company.on_taken();
  }
}

TEST(Company, GivesUpForLongerEachTimeThatNobodyComes) {
  Company company = after_two(4 * ms, 4);
  for (const int want : {2, 4, 8, 16, 32, 64, 64}) {
    company.on_one();  // One of four.
    company.on_taken();
    EXPECT_EQ(skipped(company), want);
  }
}

TEST(Company, TrustsThemAgainWhenNearlyAllHaveCome) {
  Company company = after_two(4 * ms, 4);
  for (int i = 0; i < 3; ++i) {
    company.on_taken();
    skipped(company);
  }
  for (int i = 0; i < 7; ++i) company.on_one();
  company.on_taken();
  EXPECT_EQ(skipped(company), 0);
  company.on_taken();
  EXPECT_EQ(skipped(company), 2);
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

TEST_F(SlowDisk, AndNotForLong) {
  harness_.send(other_, a_put);
  harness_.skip(2 * ms - 1);
  EXPECT_FALSE(is_due());
  harness_.skip(1);
  EXPECT_TRUE(is_due());
}

// Half of a sync may be longer than anything waits to be written.
TEST_F(SlowDisk, WhatIsWrittenAnywayIsTheSoonerDeadline) {
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

TEST_F(SlowDisk, OneAloneWaitsForNobody) {
  harness_.send(one_, a_put);
  EXPECT_TRUE(is_due());
}

TEST_F(SlowDisk, AClientThatWasNotAnsweredIsNotTakenForOneThatWas) {
  harness_.send(other_, a_put);
  harness_.send(harness_.open(), a_put);
  EXPECT_FALSE(is_due());
}

TEST_F(SlowDisk, AClientThatHasMoreOnItsWayIsNotWaitedFor) {
  harness_.send(one_, a_put);
  const store::Batch first = harness_.core().take_batch(harness_.now());
  harness_.send(other_, a_put);
  harness_.core().on_durable(first.index(), first.index(), harness_.now(), 4 * ms);
  EXPECT_FALSE(is_due());  // For the one.
  harness_.send(one_, a_put);
  EXPECT_TRUE(is_due());
}

// On disks of any speed: the loop looks at its sockets once more for them.
class Gathering : public testing::Test {
 protected:
  Gathering() {
    harness_.set_committing(false);
    for (const ConnId id : {one_, other_}) harness_.send(id, a_put);
    harness_.commit();
  }
  size_t missing() { return harness_.core().missing_company(); }

  CoreHarness harness_;
  const ConnId one_ = harness_.open();
  const ConnId other_ = harness_.open();
};

TEST_F(Gathering, MissesThoseWhoWereAnsweredUntilTheyAreBack) {
  harness_.send(harness_.open(), a_put);
  EXPECT_EQ(missing(), 2u);
  harness_.send(one_, a_put);
  EXPECT_EQ(missing(), 1u);
  harness_.send(other_, a_put);
  EXPECT_EQ(missing(), 0u);
}

TEST_F(Gathering, IsForABatchThatSomebodyWaitsFor) {
  EXPECT_EQ(missing(), 0u);
  harness_.send(one_, "watch other\r\n");  // Makes a tube, which is written when time allows.
  EXPECT_EQ(missing(), 0u);
}

TEST_F(Gathering, AddsNothingToALargeBatch) {
  std::string puts;
  for (int i = 0; i < 1'000; ++i) puts += a_put;
  EXPECT_FALSE(harness_.core().batch_is_large());
  harness_.send(one_, puts);
  EXPECT_TRUE(harness_.core().batch_is_large());
  EXPECT_EQ(missing(), 0u);
}

}  // namespace
}  // namespace perennial::core
