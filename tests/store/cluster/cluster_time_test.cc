#include "store/cluster/cluster_time.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::store::cluster {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos day = 86'400 * second;
constexpr Nanos noon = 1'700'000'000 * second;

TEST(ClusterTime, IsNotKnownBeforeALeaderWasHeard) {
  const ClusterTime time;
  EXPECT_EQ(time.at(7 * second), std::nullopt);
}

TEST(ClusterTime, GoesOnFromWhatWasHeard) {
  ClusterTime time;
  time.on_heard(noon, 1, 100 * second);
  EXPECT_EQ(time.at(100 * second), noon);
  const Nanos later = *time.at(160 * second);
  EXPECT_LE(later, noon + 60 * second);
  EXPECT_GE(later, noon + 60 * second - second / 50);
}

// What is heard late promises less, and the record of a leader that has died stands still.
TEST(ClusterTime, DoesNotGoBackForWhatIsHeardLate) {
  ClusterTime time;
  time.on_heard(noon, 1, 100 * second);
  for (int i = 1; i <= 10; ++i) time.on_heard(noon, 1, (100 + i) * second);
  EXPECT_NEAR(static_cast<double>(*time.at(110 * second)), static_cast<double>(noon + 10 * second),
              static_cast<double>(second / 100));
  time.on_heard(noon + 12 * second, 1, 111 * second);
  EXPECT_EQ(time.at(111 * second), noon + 12 * second);
}

// One clock is faster by one part in 10,000: a month later the other one still follows it.
TEST(ClusterTime, FollowsALeaderWhoseClockIsSlower) {
  ClusterTime time;
  constexpr Nanos slow = 10'000;
  for (Nanos passed = 0; passed <= 30 * day; passed += 60 * second) {
    time.on_heard(noon + passed - passed / slow, 1, passed);
  }
  const Nanos right = noon + 30 * day - 30 * day / slow;
  EXPECT_NEAR(static_cast<double>(*time.at(30 * day)), static_cast<double>(right),
              static_cast<double>(second));
}

TEST(ClusterTime, OfALeaderIsItsOwn) {
  ClusterTime time;
  time.set(noon, 1, 5 * second);
  time.on_heard(noon + day, 1, 6 * second);
  EXPECT_EQ(time.at(65 * second), noon + 60 * second);
}

// What clients ask a leader for counts by its time, and it may be behind the one before it.
TEST(ClusterTime, IsThatOfTheNewestLeader) {
  ClusterTime time;
  time.on_heard(noon, 3, 100 * second);
  time.on_heard(noon - 4 * second, 4, 101 * second);
  EXPECT_EQ(time.at(101 * second), noon - 4 * second);
  EXPECT_EQ(time.epoch(), 4U);
  time.on_heard(noon + day, 3, 102 * second);
  EXPECT_LE(*time.at(102 * second), noon - 3 * second);
  time.on_heard(noon, 5, 103 * second);
  EXPECT_EQ(time.at(103 * second), noon);
}

TEST(ClusterTime, CountsLeastWhereNobodySaysUnderWhom) {
  ClusterTime time;
  time.on_heard(noon + day, 0, 100 * second);
  EXPECT_EQ(time.at(100 * second), noon + day);
  time.on_heard(noon, 1, 101 * second);
  EXPECT_EQ(time.at(101 * second), noon);
  // Epochs have gone back.
  time.forget_epoch();
  EXPECT_LE(*time.at(102 * second), noon + second);
  time.on_heard(noon - second, 1, 102 * second);
  EXPECT_EQ(time.at(102 * second), noon - second);
}

struct Takeover {
  std::optional<Nanos> heard;
  Nanos wall;
  Nanos time;
  bool is_wall_off;
};

TEST(TakeoverTime, BelievesAWallClockWithinTheBound) {
  constexpr Nanos bound = 10 * second;
  const std::vector<Takeover> table = {
      {std::nullopt, noon, noon, false},
      {noon, noon, noon, false},
      {noon, noon + bound, noon + bound, false},
      {noon, noon + bound + 1, noon, true},
      {noon, noon + 10 * day, noon, true},
      // It never goes back.
      {noon, noon - 1, noon, false},
      {noon, noon - bound - 1, noon, true},
      {noon, 0, noon, true},
  };
  for (const Takeover& row : table) {
    const TakeoverTime got = takeover_time(row.heard, row.wall, bound);
    EXPECT_EQ(got.time, row.time) << row.wall - noon;
    EXPECT_EQ(got.is_wall_off, row.is_wall_off) << row.wall - noon;
    EXPECT_EQ(got.is_handed_on, row.heard.has_value());
    EXPECT_EQ(got.wall_ahead, row.heard ? row.wall - noon : 0);
  }
}

TEST(AheadOfMedian, IsJudgedByMostClocks) {
  EXPECT_EQ(ahead_of_median(noon, {}), 0);
  EXPECT_EQ(ahead_of_median(noon + day, std::vector<Nanos>{noon}), day);
  EXPECT_EQ(ahead_of_median(noon, std::vector<Nanos>{noon + day}), 0);
  EXPECT_EQ(ahead_of_median(noon + day, std::vector<Nanos>{noon, noon + 1}), day - 1);
  EXPECT_EQ(ahead_of_median(noon, std::vector<Nanos>{noon + day, noon - day}), 0);
  EXPECT_EQ(ahead_of_median(noon - day, std::vector<Nanos>{noon, noon}), -day);
}

}  // namespace
}  // namespace perennial::store::cluster
