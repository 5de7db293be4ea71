#include "cmd/perennial-bench/load/mixed_client.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace perennial::bench {
namespace {

constexpr int draws = 10'000;

bool gives_up(Operation operation) {
  return operation == Operation::Delete || operation == Operation::Release ||
         operation == Operation::Bury;
}

std::vector<Operation> drawn(uint64_t seed) {
  MixedClient client(seed);
  client.hold(1);
  std::vector<Operation> operations;
  for (int i = 0; i < draws; ++i) operations.push_back(client.choose(true));
  return operations;
}

TEST(MixedClient, DrawsTheSameFromTheSameSeed) {
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

TEST(MixedClient, DrawsByWeights) {
  std::map<Operation, int> counts;
  for (const Operation operation : drawn(7)) ++counts[operation];
  EXPECT_EQ(counts.size(), 7U);
  EXPECT_NEAR(counts[Operation::Put], draws / 4, draws / 50);
  EXPECT_NEAR(counts[Operation::Peek], draws / 10, draws / 50);
  EXPECT_NEAR(counts[Operation::Bury], draws / 20, draws / 50);
}

TEST(MixedClient, GivesUpOnlyWhatItHoldsAndHoldsNoMoreThanItMay) {
  MixedClient client(7);
  std::set<JobId> held;
  JobId next = 1;
  for (int i = 0; i < draws; ++i) {
    const Operation operation = client.choose(i % 2 == 0);
    EXPECT_TRUE(operation != Operation::Put || i % 2 == 0);
    if (operation == Operation::Poll) {
      client.hold(next);
      EXPECT_TRUE(held.insert(next++).second);
    } else if (gives_up(operation)) {
      EXPECT_EQ(held.erase(client.give_up()), 1U);
    }
    EXPECT_LE(held.size(), 8U);
  }
}

TEST(MixedClient, WithoutAJobReservesInstead) {
  MixedClient client(7);
  for (int i = 0; i < draws; ++i) EXPECT_FALSE(gives_up(client.choose(i % 2 == 0)));
}

}  // namespace
}  // namespace perennial::bench
