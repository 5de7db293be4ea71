#include "cmd/perenniald/loop/clock.h"

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

// A standby has run for a while when it leads, and the newest batch is of just now.
TEST(TurnClock, TheTimeSinceTheStartIsNotAddedToThatOfTheNewestBatch) {
  TurnClock clock;
  const Nanos begun = TurnClock::steady();
  while (TurnClock::steady() == begun) {
  }
  const Nanos last = clock.now() + 3600 * nanos_per_second;
  ASSERT_GT(clock.uptime(), 0);
  clock.continue_from(last);
  EXPECT_EQ(clock.now(), last);
  clock.end_turn();
  EXPECT_GE(clock.now(), last);
}

TEST(TurnClock, AnEarlierTimeChangesNothing) {
  TurnClock clock;
  const Nanos now = clock.now();
  clock.continue_from(now - 1);
  EXPECT_EQ(clock.now(), now);
  clock.continue_from(0);
  EXPECT_EQ(clock.now(), now);
}

// Also one that is earlier: a cluster's time does not follow this machine's wall clock.
TEST(TurnClock, GoesOnFromATimeThatIsSet) {
  TurnClock clock;
  const Nanos day = 86'400 * nanos_per_second;
  for (const Nanos offset : {-10 * day, 10 * day}) {
    const Nanos time = clock.now() + offset;
    const Nanos uptime = clock.uptime();
    clock.set(time, TurnClock::steady() - 5 * nanos_per_second);
    EXPECT_NEAR(static_cast<double>(clock.actual() - time), 5e9, 1e9);
    EXPECT_EQ(clock.uptime(), uptime);
  }
}

TEST(TurnClock, ContinuingChangesNoUptime) {
  TurnClock clock;
  const Nanos uptime = clock.uptime();
  clock.continue_from(clock.now() + nanos_per_second);
  EXPECT_EQ(clock.uptime(), uptime);
}

TEST(TurnClock, StandsStillAtTheLastTimeThatThereIs) {
  TurnClock clock;
  clock.continue_from(last_time);
  EXPECT_EQ(clock.now(), last_time);
  clock.end_turn();
  EXPECT_EQ(clock.now(), last_time);
  EXPECT_EQ(clock.actual(), last_time);
}

Nanos system_time() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

TEST(TurnClock, ShowsTheWallClockWhateverTheTimeIs) {
  TurnClock clock;
  clock.set(3600 * nanos_per_second, TurnClock::steady());
  const Nanos before = system_time();
  const Nanos shown = clock.wall_now();
  EXPECT_GE(shown, before);
  EXPECT_LE(shown, system_time());
  EXPECT_EQ(clock.wall_now(), clock.wall_now()) << "once per turn";
}

TEST(TurnClock, DoesNotBelieveAWallClockThatIsFarOff) {
  TurnClock clock;
  clock.believe_wall_within(60 * nanos_per_second);
  const Nanos shown = clock.wall_now();
  EXPECT_LE(shown, system_time());
  for (const int64_t off : {-3600, 3600}) {
    clock.end_turn();
    clock.set(system_time() + off * nanos_per_second, TurnClock::steady());
    EXPECT_EQ(clock.wall_now(), clock.now()) << off;
  }
}

}  // namespace
}  // namespace perennial::perenniald
