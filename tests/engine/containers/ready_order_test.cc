#include "engine/containers/ready_order.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::engine {
namespace {

class ReadyOrderTest : public testing::Test {
 protected:
  Job& take(Nanos since) {
    return *pool_.take({.id = next_id_++, .order = static_cast<uint64_t>(since)});
  }
  Job& add(Nanos since) {
    Job& job = take(since);
    order_.add(pool_, job);
    return job;
  }
  Nanos first() const { return order_.first(pool_).value_or(-1); }

  JobPool pool_;
  ReadyOrder order_;
  JobId next_id_ = 1;
};

TEST_F(ReadyOrderTest, WithoutAJobThereIsNoFirst) {
  EXPECT_EQ(order_.first(pool_), std::nullopt);
  order_.remove(pool_, add(5));
  EXPECT_EQ(order_.first(pool_), std::nullopt);
  EXPECT_EQ(order_.check(pool_), 0u);
}

TEST_F(ReadyOrderTest, TheFirstStaysUntilItLeaves) {
  Job& one = add(10);
  Job& two = add(20);
  add(30);
  EXPECT_EQ(first(), 10);
  EXPECT_FALSE(order_.remove(pool_, two));
  EXPECT_EQ(first(), 10);
  EXPECT_FALSE(order_.remove(pool_, one));
  EXPECT_EQ(first(), 30);
  EXPECT_EQ(order_.apart(), 0u);
}

TEST_F(ReadyOrderTest, AJobThatKeepsAnEarlierTimeIsApart) {
  add(20);
  Job& early = take(10);
  EXPECT_TRUE(order_.add(pool_, early));
  EXPECT_EQ(order_.apart(), 1u);
  EXPECT_EQ(first(), 10);
  EXPECT_EQ(order_.check(pool_), 2u);
  EXPECT_TRUE(order_.remove(pool_, early));
  EXPECT_EQ(first(), 20);
}

TEST_F(ReadyOrderTest, OnlyJobsThatAreApartHaveAFirst) {
  Job& late = add(20);
  add(10);
  order_.remove(pool_, late);
  EXPECT_EQ(first(), 10);
}

TEST_F(ReadyOrderTest, WhatIsRestoredIsSorted) {
  std::vector<Job*> jobs;
  for (const Nanos since : {30, 10, 20, 10}) {
    jobs.push_back(&take(since));
    order_.append(pool_, *jobs.back());
  }
  order_.sort(pool_);
  EXPECT_EQ(order_.check(pool_), 4u);
  EXPECT_EQ(order_.apart(), 0u);
  for (const auto& [leaves, then] : {std::pair(1, 10), std::pair(3, 20), std::pair(2, 30)}) {
    order_.remove(pool_, *jobs[static_cast<size_t>(leaves)]);
    EXPECT_EQ(first(), then);
  }
}

// Random times, so that many are apart, and random jobs leave.
TEST_F(ReadyOrderTest, IsAsALinearSearch) {
  const unsigned seed = 7;
  std::mt19937_64 random(seed);
  std::vector<Job*> jobs;
  for (int round = 0; round < 20'000; ++round) {
    if (jobs.empty() || random() % 2 == 0) {
      const bool is_early = random() % 4 == 0;
      jobs.push_back(&add(round - static_cast<Nanos>(is_early ? random() % 1'000 : 0) + 1'000));
    } else {
      std::swap(jobs[random() % jobs.size()], jobs.back());
      order_.remove(pool_, *jobs.back());
      pool_.release(jobs.back());
      jobs.pop_back();
    }
    Nanos least = -1;
    if (!jobs.empty()) {
      least = static_cast<Nanos>((*std::ranges::min_element(jobs, {}, &Job::order))->order);
    }
    ASSERT_EQ(first(), least) << "seed " << seed << ", round " << round;
  }
  EXPECT_EQ(order_.check(pool_), jobs.size());
}

}  // namespace
}  // namespace perennial::engine
