// P1 to P4 on the model of a store: whatever clients do and however a server ends, the next server
// holds what clients were answered.

#include <gtest/gtest.h>

#include "tests/simulation/model_run.h"
#include "tests/simulation/modes.h"
#include "tests/simulation/settings.h"
#include "tests/support/seed.h"

namespace perennial::simulation {
namespace {

using store::Durability;

class ModelSimulation : public testing::TestWithParam<ModeCase> {};

TEST_P(ModelSimulation, P1ToP4HoldWhateverHappens) {
  Figures figures;
  Budget budget(settings().model_seconds, 3);
  for (uint64_t seed = support::seed(); budget.next(); ++seed) {
    const std::string problem = run({.seed = seed, .durability = GetParam().durability}, figures);
    ASSERT_EQ(problem, "") << "run it again with --runs 1 --seed " << seed;
  }
  figures.print(GetParam().name);
  EXPECT_GT(figures.answers, 0U);
  EXPECT_GT(figures.power_cuts + figures.kills + figures.clean_restarts, 0U);
}

TEST(ModelSimulationOnce, IsRepeatedByItsSeed) {
  const ModelRun plan{.seed = support::seed(), .durability = Durability::Interval};
  Figures first;
  Figures second;
  EXPECT_EQ(run(plan, first), run(plan, second));
  EXPECT_EQ(first.answers, second.answers);
  EXPECT_EQ(first.batches, second.batches);
  EXPECT_EQ(first.power_cuts, second.power_cuts);
}

INSTANTIATE_TEST_SUITE_P(Simulation, ModelSimulation,
                         testing::Values(ModeCase{"Commit", Durability::Commit},
                                         ModeCase{"Interval", Durability::Interval},
                                         ModeCase{"Never", Durability::Never}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::simulation
