// The checker finds each planted bug, and reports nothing where there is no bug.

#include <gtest/gtest.h>

#include "tests/simulation/model_run.h"
#include "tests/simulation/schedules.h"
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

// A schedule of each second that has put jobs for the first two times after its anchor, and missed
// the third.
engine::Image image_with_schedule() {
  constexpr Nanos anchor = 1'700'000'000 * nanos_per_second;
  engine::Image image;
  Schedule schedule = {.name = "s", .tube = "t"};
  schedule.when = ScheduleEvery{nanos_per_second, anchor};
  image.schedules["s"] = {.schedule = schedule,
                          .progress = {.planned = anchor + 4 * nanos_per_second,
                                       .last_planned = anchor + 2 * nanos_per_second,
                                       .last_fired = 1,
                                       .last_job = 2,
                                       .fired = 2,
                                       .missed = 1}};
  for (const JobId id : {1, 2}) {
    JobFields fields;
    fields.schedule = ScheduleOrigin{"s", anchor + static_cast<Nanos>(id) * nanos_per_second};
    image.jobs[id] = {.id = id, .ttr_s = 1, .fields = fields};
  }
  return image;
}

TEST(WrongWithSchedules, IsFound) {
  const engine::Image right = image_with_schedule();
  EXPECT_EQ(wrong_with_schedules(right), "");
  engine::Image lost = right;
  lost.jobs.erase(1);
  EXPECT_EQ(wrong_with_schedules(lost), "schedule s: it has put 2 jobs, and 1 are there");
  engine::Image twice = right;
  twice.jobs[3] = twice.jobs[1];
  EXPECT_EQ(wrong_with_schedules(twice), "schedule s: a planned time has put two jobs");
  engine::Image without_progress = right;
  without_progress.schedules["s"].progress.fired = 1;
  EXPECT_EQ(wrong_with_schedules(without_progress),
            "schedule s: it has put 1 jobs, and 2 are there");
  engine::Image left_out = right;
  left_out.schedules["s"].progress.missed = 0;
  EXPECT_EQ(wrong_with_schedules(left_out),
            "schedule s: 3 times have passed, and 2 are accounted for");
  engine::Image again = right;
  *again.schedules["s"].progress.planned -= 2 * nanos_per_second;
  EXPECT_EQ(wrong_with_schedules(again), "schedule s: a time will come again");
  engine::Image other = right;
  other.schedules["s"].progress.last_planned += nanos_per_second;
  EXPECT_EQ(wrong_with_schedules(other),
            "schedule s: the last planned time is not that of the last job");
  engine::Image gone = right;
  gone.schedules.clear();
  EXPECT_EQ(wrong_with_schedules(gone), "no schedule s has put a job");
}

}  // namespace
}  // namespace perennial::simulation
