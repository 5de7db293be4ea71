// C1 to C6 with the whole server: core, batches and rows on three nodes and a model of etcd,
// whatever clients do, however a leader ends, and whatever fails.

#include <iostream>

#include <gtest/gtest.h>

#include "tests/simulation/cluster_run.h"
#include "tests/simulation/settings.h"
#include "tests/support/seed.h"

namespace perennial::simulation {
namespace {

TEST(ClusterSimulation, ClientsSeeOneServerWhateverHappens) {
  Figures figures;
  Budget budget(settings().model_seconds, 2);
  for (uint64_t seed = support::seed(); budget.next(); ++seed) {
    const std::string problem = run(ClusterRun{.seed = seed}, figures);
    ASSERT_EQ(problem, "") << "run it again with --runs 1 --seed " << seed;
  }
  figures.print("Cluster");
  EXPECT_GT(figures.answers, 0U);
  EXPECT_GT(figures.power_cuts + figures.kills + figures.clean_restarts, 0U);
}

TEST(ClusterSimulation, IsRepeatedByItsSeed) {
  Figures first;
  Figures second;
  EXPECT_EQ(run(ClusterRun{.seed = support::seed()}, first),
            run(ClusterRun{.seed = support::seed()}, second));
  EXPECT_EQ(first.answers, second.answers);
  EXPECT_EQ(first.batches, second.batches);
}

struct BugCase {
  const char* name;
  ClusterBug bug;
};

void PrintTo(const BugCase& bug, std::ostream* out) {
  *out << bug.name;
}

class PlantedClusterBug : public testing::TestWithParam<BugCase> {};

TEST_P(PlantedClusterBug, IsFound) {
  constexpr uint64_t runs_max = 300;
  Figures figures;
  std::string problem;
  for (uint64_t i = 0; i < runs_max && problem.empty(); ++i) {
    problem = run(ClusterRun{.seed = support::seed() + i, .bug = GetParam().bug}, figures);
  }
  ASSERT_NE(problem, "") << "not found in " << figures.runs << " runs";
  std::cout << "found in run " << figures.runs << ": " << problem.substr(0, problem.find('\n'))
            << '\n';
  const uint64_t seed = support::seed() + figures.runs - 1;
  EXPECT_EQ(run(ClusterRun{.seed = seed}, figures), "") << "without the bug, seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedClusterBug,
                         testing::Values(BugCase{"AnswersBeforeCommit",
                                                 ClusterBug::AnswersBeforeCommit},
                                         BugCase{"SkipsRows", ClusterBug::SkipsRows},
                                         BugCase{"LeaseNotLookedAt", ClusterBug::LeaseNotLookedAt},
                                         BugCase{"ReusesIds", ClusterBug::ReusesIds}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::simulation
