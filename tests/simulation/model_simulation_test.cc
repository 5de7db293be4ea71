// P1 to P4 on the model of a store: whatever clients do and however a server ends, the next server
// holds what clients were answered.
//
// The load (clients.cc) has put with priority, delay, ttr, tries:, idp: and expire:, all ways to
// take and give back a job, kicks, pauses, notes, and jobs that end: set-tube with keep: and
// keep-max:, delete, flush-tube, expiry, peek-ended, list-jobs state:ended, restore-job, also of
// the same job by several clients, and restore-tube with since: and how:. What core reads of ended
// jobs comes back at once, late, or late and read late. Times: some milliseconds to a thousand
// seconds, and up to two between two servers. The door is core, as it is for clients of TCP.
//
// Blind to: con:, backoff:, until:, dead:, match: and the batches; keys of which two jobs wish the
// same; attempts and the counters of jobs; move-tube, kick-tube and set-job; users; HTTP; a disk
// that is short of space, while which nothing is kept (tests/disk_full); and damage.

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
