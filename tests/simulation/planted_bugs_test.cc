// The checker finds each planted bug, and reports nothing where there is no bug.

#include <gtest/gtest.h>

#include "tests/simulation/model_run.h"
#include "tests/support/seed.h"

namespace perennial::simulation {
namespace {

// Most bugs show within two runs. This many runs take about ten seconds.
constexpr uint64_t runs_max = 3000;

struct BugCase {
  const char* name;
  Bug bug;
};

void PrintTo(const BugCase& bug, std::ostream* out) {
  *out << bug.name;
}

class PlantedBug : public testing::TestWithParam<BugCase> {};

TEST_P(PlantedBug, IsFound) {
  Figures figures;
  std::string problem;
  uint64_t seed = support::seed();
  for (uint64_t i = 0; i < runs_max && problem.empty(); ++i) {
    problem = run({.seed = seed + i, .bug = GetParam().bug, .ignores_images = true}, figures);
  }
  ASSERT_NE(problem, "") << "not found in " << figures.runs << " runs";
  std::cout << "found in run " << figures.runs << ": " << problem.substr(0, problem.find('\n'))
            << '\n';
  seed += figures.runs - 1;
  EXPECT_EQ(run({.seed = seed}, figures), "") << "without the bug, seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedBug,
                         testing::Values(BugCase{"AnswersBeforeSync", Bug::AnswersBeforeSync},
                                         BugCase{"SkipsSingleDelete", Bug::SkipsSingleDelete},
                                         BugCase{"KeepsDeletedRow", Bug::KeepsDeletedRow},
                                         BugCase{"ReusesIds", Bug::ReusesIds},
                                         BugCase{"ForgetsPriority", Bug::ForgetsPriority},
                                         BugCase{"HandsOutTwice", Bug::HandsOutTwice},
                                         BugCase{"ForgetsFirstBefore", Bug::ForgetsFirstBefore},
                                         BugCase{"MixesNotesUp", Bug::MixesNotesUp},
                                         BugCase{"LosesEnds", Bug::LosesEnds},
                                         BugCase{"LeavesRestored", Bug::LeavesRestored},
                                         BugCase{"EndsAsPut", Bug::EndsAsPut},
                                         BugCase{"IgnoresLeases", Bug::IgnoresLeases},
                                         BugCase{"ReadsStaleEnds", Bug::ReadsStaleEnds}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::simulation
