// P1 to P4 on the real store, over a file system with failed calls, lost data and partial writes.
// Blind to damage of what was synced: a failed read is one call that fails, and a block that stays
// damaged or unreadable is not in the load, because the burial of jobs without a body is the work
// of the server around core, which a simulation does not have. tests/flip/work_test.cc has it for a
// store, and tests/crash for a server.

#include <gtest/gtest.h>

#include "tests/simulation/modes.h"
#include "tests/simulation/settings.h"
#include "tests/simulation/store_run.h"
#include "tests/support/seed.h"

namespace perennial::simulation {
namespace {

using store::Durability;

class StoreSimulation : public testing::TestWithParam<ModeCase> {};

TEST_P(StoreSimulation, P1ToP4HoldWhateverFails) {
  Figures figures;
  Budget budget(settings().store_seconds, 4);
  for (uint64_t seed = support::seed(); budget.next(); ++seed) {
    const std::string problem =
        run(StoreRun{.seed = seed, .durability = GetParam().durability}, figures);
    ASSERT_EQ(problem, "") << "run it again with --runs 1 --seed " << seed;
  }
  figures.print(GetParam().name);
  EXPECT_GT(figures.answers, 0U);
}

INSTANTIATE_TEST_SUITE_P(Simulation, StoreSimulation,
                         testing::Values(ModeCase{"Commit", Durability::Commit},
                                         ModeCase{"Interval", Durability::Interval},
                                         ModeCase{"Never", Durability::Never}),
                         [](const auto& one) { return one.param.name; });

// What schedules put is there once for each planned time, whatever fails between two starts.
TEST(StoreSimulationOfSchedules, EachPlannedTimeIsAccountedForOnce) {
  Figures figures;
  Budget budget(settings().store_seconds, 4);
  for (uint64_t seed = support::seed(); budget.next(); ++seed) {
    const std::string problem = run(StoreRun{.seed = seed, .has_schedules = true}, figures);
    ASSERT_EQ(problem, "") << "run it again with --runs 1 --seed " << seed;
  }
  figures.print("Schedules");
  EXPECT_GT(figures.jobs_found, 0U);
}

// The disk reports syncs that it has not done, so answers leave before they are durable.
TEST(PlantedBugInStore, AnswersBeforeSyncIsFound) {
  Figures figures;
  std::string problem;
  for (uint64_t seed = support::seed(); problem.empty() && figures.runs < 60; ++seed) {
    problem = run(StoreRun{.seed = seed, .disk_lies = true}, figures);
  }
  ASSERT_NE(problem, "");
  std::cout << "found in run " << figures.runs << ": " << problem.substr(0, problem.find('\n'))
            << '\n';
}

}  // namespace
}  // namespace perennial::simulation
