#include "cmd/common/newcomers.h"

#include <optional>
#include <set>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

TEST(Newcomers, TheOldestGivesWay) {
  Newcomers newcomers({.connections_max = 3});
  EXPECT_EQ(newcomers.oldest(), std::nullopt);
  EXPECT_EQ(newcomers.add(1, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(2, "b"), std::nullopt);
  EXPECT_EQ(newcomers.add(3, "c"), std::nullopt);
  EXPECT_EQ(newcomers.add(4, "d"), 1u);
  newcomers.remove(1);
  newcomers.remove(3);
  newcomers.remove(3);
  EXPECT_EQ(newcomers.count(), 2u);
  EXPECT_EQ(newcomers.oldest(), 2u);
  EXPECT_EQ(newcomers.add(5, "b"), std::nullopt);
  EXPECT_EQ(newcomers.add(6, "b"), 2u);
}

TEST(Newcomers, OfTheSameAddressWhereThatHasItsShare) {
  Newcomers newcomers({.connections_max = 4, .per_address_max = 2});
  EXPECT_EQ(newcomers.add(1, "other"), std::nullopt);
  EXPECT_EQ(newcomers.add(2, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(3, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(4, "a"), 2u);
  newcomers.remove(2);
  EXPECT_EQ(newcomers.oldest_of("a"), 3u);
  EXPECT_EQ(newcomers.oldest_of("b"), std::nullopt);
  EXPECT_EQ(newcomers.oldest(), 1u);
  newcomers.remove(1);
  EXPECT_EQ(newcomers.oldest_of("other"), std::nullopt);
}

TEST(Newcomers, NoneGivesWayThatWasNotReadYet) {
  std::set<ConnId> unread = {1, 2};
  Newcomers newcomers({.connections_max = 3, .per_address_max = 2, .is_unread = [&](ConnId conn) {
                         return unread.contains(conn);
                       }});
  for (const ConnId conn : {1, 2}) EXPECT_EQ(newcomers.add(conn, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(3, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(4, "b"), 3u);
  newcomers.remove(3);
  EXPECT_EQ(newcomers.oldest(), 1u);
  EXPECT_EQ(newcomers.first_to_give_way(), 4u);
  unread.erase(2);
  EXPECT_EQ(newcomers.add(5, "a"), 2u);
}

}  // namespace
}  // namespace perennial::common
