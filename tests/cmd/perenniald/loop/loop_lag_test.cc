#include "cmd/perenniald/loop/loop_lag.h"

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos start = 1'000 * second;

TEST(LoopLag, IsTheLongestTurnOfTheLastSeconds) {
  LoopLag lag;
  EXPECT_EQ(lag.longest(start), 0);
  lag.on_turn(start, start + 30);
  lag.on_turn(start + 100, start + 120);
  EXPECT_EQ(lag.longest(start + 200), 30);
  lag.on_turn(start + 4 * second, start + 4 * second + 50);
  EXPECT_EQ(lag.longest(start + 5 * second), 50);
  // Into the next window, and out of it.
  lag.on_turn(start + 6 * second, start + 6 * second + 10);
  EXPECT_EQ(lag.longest(start + 7 * second), 50);
  lag.on_turn(start + 12 * second, start + 12 * second + 5);
  EXPECT_EQ(lag.longest(start + 13 * second), 10);
}

// The turn that asks after a long sleep is the first since then.
TEST(LoopLag, IsForgottenWhileNoTurnEnds) {
  LoopLag lag;
  lag.on_turn(start, start + 30);
  EXPECT_EQ(lag.longest(start + 9 * second), 30);
  EXPECT_EQ(lag.longest(start + 3'600 * second), 0);
}

TEST(LoopLag, IsForgottenByATurnAfterALongSleep) {
  LoopLag lag;
  lag.on_turn(start, start + 30);
  lag.on_turn(start + 3'600 * second, start + 3'600 * second + 7);
  EXPECT_EQ(lag.longest(start + 3'601 * second), 7);
}

}  // namespace
}  // namespace perennial::perenniald
