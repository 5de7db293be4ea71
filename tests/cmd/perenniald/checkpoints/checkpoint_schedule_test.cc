#include "cmd/perenniald/checkpoints/checkpoint_schedule.h"

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

constexpr Nanos second = nanos_per_second;

TEST(CheckpointSchedule, WithoutAnIntervalNoneIsEverDue) {
  CheckpointSchedule schedule(0);
  EXPECT_FALSE(schedule.due());
  schedule.made(5 * second, 6 * second);
  schedule.failed(7 * second);
  EXPECT_FALSE(schedule.due());
  EXPECT_EQ(schedule.age_s(15 * second), 10);
}

TEST(CheckpointSchedule, TheFirstIsDueAtOnce) {
  EXPECT_LE(*CheckpointSchedule(3600 * second).due(), 0);
}

TEST(CheckpointSchedule, TheNextIsDueOneIntervalAfterTheLastGoodOne) {
  CheckpointSchedule schedule(3600 * second);
  schedule.made(100 * second, 130 * second);
  EXPECT_EQ(*schedule.due(), 3700 * second);
}

TEST(CheckpointSchedule, AFailedOneIsTriedAgainSoon) {
  CheckpointSchedule hourly(3600 * second);
  hourly.made(100 * second, 100 * second);
  hourly.failed(3700 * second);
  EXPECT_EQ(*hourly.due(), 3760 * second);
  CheckpointSchedule often(10 * second);
  often.failed(100 * second);
  EXPECT_EQ(*often.due(), 110 * second);
}

TEST(CheckpointSchedule, TheAgeIsThatOfTheNewestGoodOne) {
  CheckpointSchedule schedule(0);
  EXPECT_EQ(schedule.age_s(100 * second), -1);
  schedule.made(100 * second, 105 * second);
  schedule.failed(300 * second);
  EXPECT_EQ(schedule.age_s(300 * second - 1), 199);
  EXPECT_EQ(schedule.age_s(300 * second), 200);
}

TEST(CheckpointSchedule, ForgetsOneThatIsLost) {
  CheckpointSchedule schedule(60 * second);
  schedule.made(1000 * second, 1001 * second);
  schedule.lost(900 * second, 1002 * second);
  EXPECT_EQ(schedule.age_s(1002 * second), 102);
  EXPECT_EQ(*schedule.due(), 960 * second);
  schedule.lost(std::nullopt, 1003 * second);
  EXPECT_EQ(schedule.age_s(1003 * second), -1);
  EXPECT_LE(*schedule.due(), 0);
}

// A clock that was put back must not delay the next checkpoint until it has caught up.
TEST(CheckpointSchedule, OneFromTheFutureCountsAsNow) {
  CheckpointSchedule schedule(60 * second);
  schedule.made(1'000'000 * second, 100 * second);
  EXPECT_EQ(*schedule.due(), 160 * second);
  EXPECT_EQ(schedule.age_s(101 * second), 1);
}

}  // namespace
}  // namespace perennial::perenniald
