#include "cmd/perenniald/process/watchdog.h"

#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

constexpr Nanos tick = nanos_per_second / 5;

struct Look {
  WorkSeen seen;
  Nanos since = tick;
};

struct StallCase {
  const char* name;
  std::vector<Look> looks;
  Nanos want;  // For how long it is stuck at the end.
};

void PrintTo(const StallCase& stall, std::ostream* out) {
  *out << stall.name;
}

constexpr WorkSeen idle = {.busy = false, .progress = 4};
constexpr WorkSeen first = {.busy = true, .progress = 5};
constexpr WorkSeen second = {.busy = true, .progress = 7};

class StallTest : public testing::TestWithParam<StallCase> {};

TEST_P(StallTest, IsCounted) {
  StallCounter counter;
  Nanos stuck = 0;
  for (const Look& look : GetParam().looks) stuck = counter.look(look.seen, look.since);
  EXPECT_EQ(stuck, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Watchdog, StallTest,
    testing::Values(StallCase{"Idle", {{idle}, {idle}, {idle}}, 0},
                    StallCase{"JustBegun", {{idle}, {first}}, 0},
                    StallCase{"TheSameWork", {{first}, {first}, {first}}, 2 * tick},
                    StallCase{"OtherWork", {{first}, {first}, {second}}, 0},
                    StallCase{"OtherWorkThatIsStuck", {{first}, {first}, {second}, {second}}, tick},
                    StallCase{"Ended", {{first}, {first}, {idle}}, 0},
                    StallCase{"BegunAgain", {{first}, {first}, {idle}, {first}}, 0},
                    // The process was stopped, or the machine was suspended.
                    StallCase{"AfterAMinute",
                              {{first}, {first, 60 * nanos_per_second}},
                              StallCounter::look_counts_max}),
    [](const auto& stall) { return std::string(stall.param.name); });

TEST(Watchdog, CallsStalledAgainAndAgain) {
  std::promise<void> called;
  int calls = 0;
  Watchdog watchdog(
      nanos_per_ms, [] { return first; },
      [&] {
        if (++calls == 3) called.set_value();
      });
  called.get_future().wait();
}

TEST(Watchdog, EndsWithoutACall) {
  bool called = false;
  {
    const Watchdog watchdog(
        nanos_per_second, [] { return idle; }, [&called] { called = true; });
  }
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace perennial::perenniald
