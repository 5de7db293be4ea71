#include "cmd/common/round_robin.h"

#include <vector>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

std::vector<ConnId> take_all(RoundRobin& waiting) {
  std::vector<ConnId> taken;
  while (const std::optional<ConnId> conn = waiting.take()) taken.push_back(*conn);
  return taken;
}

TEST(RoundRobin, AddressesTakeTurns) {
  RoundRobin waiting;
  EXPECT_EQ(waiting.take(), std::nullopt);
  for (const ConnId conn : {1, 2, 3, 4}) waiting.add(conn, "a");
  for (const ConnId conn : {5, 6}) waiting.add(conn, "b");
  waiting.add(7, "");
  EXPECT_EQ(waiting.take(), 1u);
  waiting.add(8, "c");
  EXPECT_EQ(take_all(waiting), (std::vector<ConnId>{5, 7, 2, 8, 6, 3, 4}));
  EXPECT_TRUE(waiting.empty());
}

TEST(RoundRobin, OneMayBeRemoved) {
  RoundRobin waiting;
  waiting.add(1, "a");
  for (const ConnId conn : {2, 3, 4}) waiting.add(conn, "b");
  for (const ConnId conn : {1, 3, 9}) waiting.remove(conn);
  EXPECT_FALSE(waiting.holds(3));
  EXPECT_TRUE(waiting.holds(4));
  waiting.add(1, "a");
  EXPECT_EQ(take_all(waiting), (std::vector<ConnId>{2, 1, 4}));
}

}  // namespace
}  // namespace perennial::common
