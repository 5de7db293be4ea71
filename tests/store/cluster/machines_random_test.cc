#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/random_machines.h"
#include "tests/support/seed.h"

// Machines with clocks, disks and lines of their own keep the laws, and break them when a mended
// line is taken out again.
namespace perennial::store::cluster {
namespace {

using Bug = RandomMachines::Bug;
using Faults = RandomMachines::Faults;

constexpr Nanos second = nanos_per_second;

TEST(MachinesRandom, KeepTheLaws) {
  std::map<std::string, int> counts;
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t seed = support::seed() + i;
    SCOPED_TRACE(fmt::format("--seed {}", seed));
    RandomMachines machines(seed);
    ASSERT_EQ(machines.run(300 * second), "");
    EXPECT_GT(machines.acknowledged(), 500U);
    for (const auto& [what, count] : machines.counts()) counts[what] += count;
  }
  for (const auto& [what, count] : counts) std::cout << what << ": " << count << '\n';
  EXPECT_GE(counts.size(), 9U);
}

TEST(MachinesRandom, KeepOneHistoryWhenEtcdIsRestored) {
  for (uint64_t i = 0; i < 30; ++i) {
    const uint64_t seed = support::seed() + i;
    SCOPED_TRACE(fmt::format("--seed {}", seed));
    RandomMachines machines(seed, Bug::None, Faults::Restore);
    ASSERT_EQ(machines.run(120 * second), "");
    EXPECT_GT(machines.acknowledged(), 50U);
  }
}

struct Planted {
  std::string name;
  Bug bug;
  Faults faults = Faults::All;
};

class MendedLineTest : public testing::TestWithParam<Planted> {};

TEST_P(MendedLineTest, IsMissedWhenItIsTakenOut) {
  for (uint64_t i = 0; i < 100; ++i) {
    RandomMachines machines(support::seed() + i, GetParam().bug, GetParam().faults);
    const std::string broken = machines.run(200 * second);
    if (broken.empty()) continue;
    std::cout << "caught with seed " << i << " of this run: " << broken << '\n';
    return;
  }
  FAIL() << "no seed has caught it";
}

INSTANTIATE_TEST_SUITE_P(Bugs, MendedLineTest,
                         testing::Values(Planted{"TakeoverAddsUptime", Bug::TakeoverAddsUptime},
                                         Planted{"WallClockBelieved", Bug::WallClockBelieved},
                                         Planted{"EarlierTimeBelieved", Bug::EarlierTimeBelieved},
                                         Planted{"ClaimNotCompared", Bug::ClaimNotCompared,
                                                 Faults::Restore},
                                         Planted{"ResetIsProof", Bug::ResetIsProof},
                                         Planted{"SilenceIsProof", Bug::SilenceIsProof},
                                         Planted{"DamagedStandsAgain", Bug::DamagedStandsAgain},
                                         Planted{"DamageNotTold", Bug::DamageNotTold},
                                         Planted{"CloneBelieved", Bug::CloneBelieved},
                                         Planted{"PortClosesFirst", Bug::PortClosesFirst},
                                         Planted{"SpaceNotTold", Bug::SpaceNotTold}),
                         [](const auto& planted) { return planted.param.name; });

}  // namespace
}  // namespace perennial::store::cluster
