#include "cmd/common/newcomers.h"

#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

TEST(Newcomers, TheOldestGivesWay) {
  Newcomers newcomers({.connections_max = 3, .per_address_max = 3});
  EXPECT_EQ(newcomers.first_to_give_way(), std::nullopt);
  EXPECT_EQ(newcomers.add(1, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(2, "b"), std::nullopt);
  EXPECT_EQ(newcomers.add(3, "c"), std::nullopt);
  EXPECT_EQ(newcomers.add(4, "d"), 1u);
  newcomers.remove(1);
  newcomers.remove(3);
  newcomers.remove(3);
  EXPECT_EQ(newcomers.count(), 2u);
  EXPECT_EQ(newcomers.first_to_give_way(), 2u);
  EXPECT_EQ(newcomers.add(5, "b"), std::nullopt);
  EXPECT_EQ(newcomers.add(6, "b"), 2u);
  newcomers.renew(2, "b");
  EXPECT_EQ(newcomers.first_to_give_way(), 5u);
}

TEST(Newcomers, OfTheSameAddressWhereThatHasItsShare) {
  Newcomers newcomers({.connections_max = 4, .per_address_max = 2});
  EXPECT_EQ(newcomers.add(1, "other"), std::nullopt);
  EXPECT_EQ(newcomers.add(2, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(3, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(4, "a"), 2u);
  newcomers.remove(2);
  EXPECT_EQ(newcomers.add(5, "a"), 3u);
}

// However many come of one address, none of another one gives way that has fewer.
TEST(Newcomers, OfTheAddressThatHasTheMost) {
  Newcomers newcomers({.connections_max = 10, .per_address_max = 8});
  for (const ConnId conn : {1, 2, 3}) newcomers.add(conn, "single " + std::to_string(conn));
  for (const ConnId conn : {4, 5}) newcomers.add(conn, "pair");
  for (ConnId conn = 6; conn < 1'000; ++conn) {
    const std::optional<ConnId> gives_way = newcomers.add(conn, "flood");
    EXPECT_EQ(gives_way.value_or(0), conn > 10 ? conn - 5 : 0);
    if (gives_way) newcomers.remove(*gives_way);
  }
  EXPECT_EQ(newcomers.add(1'000, "newest"), 995u);
  for (const ConnId conn : {995, 996, 997}) newcomers.remove(conn);
  // Of those that have as many the oldest one.
  EXPECT_EQ(newcomers.first_to_give_way(), 4u);
  newcomers.renew(4, "pair");
  EXPECT_EQ(newcomers.first_to_give_way(), 5u);
  newcomers.remove(5);
  EXPECT_EQ(newcomers.first_to_give_way(), 998u);
}

// Strangers from as many addresses as there are places do not push out whoever has two.
TEST(Newcomers, OfNoAddressThatHasAFew) {
  Newcomers newcomers({.connections_max = 10, .per_address_max = 24});
  for (ConnId conn = 1; conn <= 7; ++conn) newcomers.add(conn, "single " + std::to_string(conn));
  for (const ConnId conn : {8, 9, 10}) newcomers.add(conn, "few");
  EXPECT_EQ(newcomers.first_to_give_way(), 1u);
  newcomers.add(11, "few");
  EXPECT_EQ(newcomers.first_to_give_way(), 8u);
}

// They stand for many, so their number tells nothing.
TEST(Newcomers, WithoutAnAddressGiveWayByTheirAgeAlone) {
  Newcomers newcomers({.connections_max = 5, .per_address_max = 1});
  for (const ConnId conn : {1, 2, 3}) EXPECT_EQ(newcomers.add(conn, ""), std::nullopt);
  newcomers.renew(1, "");
  for (const ConnId conn : {4, 5}) newcomers.add(conn, "a " + std::to_string(conn));
  EXPECT_EQ(newcomers.add(6, "a 6"), 2u);
  newcomers.renew(2, "");
  newcomers.renew(3, "");
  newcomers.renew(1, "");
  EXPECT_EQ(newcomers.first_to_give_way(), 4u);
  for (const ConnId conn : {4, 5, 6}) newcomers.remove(conn);
  EXPECT_EQ(newcomers.first_to_give_way(), 2u);
}

// Those of this machine have an address, and a share of it, that tell nothing of who is there.
TEST(Newcomers, MayGiveWayByTheirAgeWithinTheirShare) {
  Newcomers newcomers({.connections_max = 5, .per_address_max = 3});
  newcomers.add(1, "a");
  for (const ConnId conn : {2, 3, 4}) newcomers.add(conn, "local", true);
  newcomers.add(5, "b");
  EXPECT_EQ(newcomers.add(6, "c"), 1u);
  EXPECT_EQ(newcomers.add(7, "local", true), 2u);
  newcomers.remove(1);
  EXPECT_EQ(newcomers.first_to_give_way(), 2u);
  for (const ConnId conn : {2, 3, 4, 7}) newcomers.remove(conn);
  EXPECT_EQ(newcomers.first_to_give_way(), 5u);
}

TEST(Newcomers, NoneGivesWayThatWasNotReadYet) {
  std::set<ConnId> unread = {1, 2};
  Newcomers newcomers({.connections_max = 3, .per_address_max = 2, .must_stay = [&](ConnId conn) {
                         return unread.contains(conn);
                       }});
  for (const ConnId conn : {1, 2}) EXPECT_EQ(newcomers.add(conn, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(3, "a"), std::nullopt);
  EXPECT_EQ(newcomers.add(4, "b"), 3u);
  newcomers.remove(3);
  EXPECT_EQ(newcomers.first_to_give_way(), 4u);
  unread.erase(2);
  newcomers.on_progress(2);
  newcomers.on_progress(7);
  EXPECT_EQ(newcomers.add(5, "a"), 2u);
  // It keeps its age.
  unread.erase(1);
  newcomers.on_progress(1);
  EXPECT_EQ(newcomers.first_to_give_way(), 1u);
  unread = {1, 2, 4, 5};
  EXPECT_EQ(newcomers.first_to_give_way(), std::nullopt);
  newcomers.renew(4, "c");
  unread.erase(4);
  EXPECT_EQ(newcomers.add(6, "b"), 4u);
}

// Each may be asked about once for itself, and once for each that comes.
TEST(Newcomers, AreNotLookedAtAgainWhileTheyAreUnread) {
  constexpr size_t connections = 10'000;
  size_t asked = 0;
  Newcomers newcomers({.connections_max = 10, .per_address_max = 5, .must_stay = [&](ConnId conn) {
                         ++asked;
                         return conn % 100 != 0;
                       }});
  for (ConnId conn = 0; conn < connections; ++conn) {
    const std::optional<ConnId> gives_way = newcomers.add(conn, conn % 2 == 0 ? "a" : "b");
    if (gives_way) newcomers.remove(*gives_way);
  }
  EXPECT_LE(asked, 3 * connections);
}

}  // namespace
}  // namespace perennial::common
