#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

constexpr Nanos now = 1'700'000'000 * nanos_per_second;

JobRow row(JobId id, JobState state = JobState::Ready) {
  return {.id = id, .state = state, .tube = 0, .ttr_s = 1, .created = now};
}

// Data on disk that contradicts itself is refused, with a message that names the contradiction.
struct RefusedCase {
  std::string name;
  std::function<Status(Engine&)> restore;
  std::string message;
};

class Refused : public testing::TestWithParam<RefusedCase> {};

TEST_P(Refused, IsReportedAsCorruption) {
  Engine engine({});
  ASSERT_TRUE(engine.restore_tube(0, "default").ok());
  ASSERT_TRUE(engine.restore_tube(2, "mail").ok());
  ASSERT_TRUE(engine.restore_job(row(5), now).ok());
  ASSERT_TRUE(engine.restore_pause({2, 10, now}, now).ok());
  const Status status = GetParam().restore(engine);
  EXPECT_EQ(status.code(), StatusCode::Corruption);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

Output ignored;

INSTANTIATE_TEST_SUITE_P(
    Restore, Refused,
    testing::Values(
        RefusedCase{"TubeNumberTwice",
                    [](Engine& engine) { return engine.restore_tube(2, "other"); },
                    "has the number of another tube"},
        RefusedCase{"TubeNameTwice", [](Engine& engine) { return engine.restore_tube(3, "mail"); },
                    "under another number"},
        RefusedCase{"DefaultElsewhere",
                    [](Engine& engine) { return engine.restore_tube(4, "default"); },
                    "number 0 is that of default"},
        RefusedCase{"TubeNumberTooHigh",
                    [](Engine& engine) { return engine.restore_tube(tube_id_limit, "high"); },
                    "out of range"},
        RefusedCase{
            "JobTwice",
            [](Engine& engine) { return engine.restore_job(row(5, JobState::Buried), now); },
            "in two states"},
        RefusedCase{"JobZero", [](Engine& engine) { return engine.restore_job(row(0), now); },
                    "no job's number"},
        RefusedCase{"JobWithoutTube",
                    [](Engine& engine) {
                      JobRow lost = row(6);
                      lost.tube = 1;
                      return engine.restore_job(lost, now);
                    },
                    "tube 1, which is not there"},
        RefusedCase{"PauseWithoutTube",
                    [](Engine& engine) {
                      return engine.restore_pause({7, 1, now}, now);
                    },
                    "tube 7, which is not there"},
        RefusedCase{"PauseTwice",
                    [](Engine& engine) {
                      return engine.restore_pause({2, 1, now}, now);
                    },
                    "two pauses"},
        RefusedCase{"NextIdNotAboveJobs",
                    [](Engine& engine) { return engine.finish_restore(5, now, ignored); },
                    "next id is 5"}),
    [](const auto& test) { return test.param.name; });

TEST(Restore, DoesNotLengthenADelayWhenTheClockWasSetBack) {
  Engine engine({});
  ASSERT_TRUE(engine.restore_tube(0, "default").ok());
  JobRow delayed = row(1, JobState::Delayed);
  delayed.delay_s = 10;
  delayed.order = static_cast<uint64_t>(now + 1000 * nanos_per_second);
  ASSERT_TRUE(engine.restore_job(delayed, now).ok());
  EXPECT_EQ(engine.next_deadline(), now + 10 * nanos_per_second);
}

TEST(Restore, DoesNotLengthenAPauseWhenTheClockWasSetBack) {
  Engine engine({});
  ASSERT_TRUE(engine.restore_tube(0, "default").ok());
  const Nanos pause = 5 * nanos_per_second;
  ASSERT_TRUE(engine.restore_pause({0, pause, now + 100 * pause}, now).ok());
  EXPECT_EQ(engine.next_deadline(), now + pause);
}

TEST(Restore, EndsTubesWithoutJobsAndTheirPauses) {
  Engine engine({});
  ASSERT_TRUE(engine.restore_tube(0, "default").ok());
  ASSERT_TRUE(engine.restore_tube(1, "empty").ok());
  ASSERT_TRUE(engine.restore_pause({1, 100, now}, now).ok());
  Output output;
  ASSERT_TRUE(engine.finish_restore(1, now, output).ok());
  engine.check();
  ASSERT_EQ(output.transitions.size(), 1u);
  EXPECT_EQ(std::get<TubeEnded>(output.transitions[0]).tube, 1u);
  EXPECT_EQ(engine.next_deadline(), std::nullopt);
  EXPECT_EQ(engine.image().tubes.size(), 1u);
}

TEST(Restore, ReusesFreedTubeNumbersLowestFirst) {
  Engine engine({});
  ASSERT_TRUE(engine.restore_tube(0, "default").ok());
  ASSERT_TRUE(engine.restore_tube(3, "three").ok());
  JobRow job = row(1);
  job.tube = 3;
  ASSERT_TRUE(engine.restore_job(job, now).ok());
  Output output;
  ASSERT_TRUE(engine.finish_restore(2, now, output).ok());
  engine.apply({.now = now, .conn = 1, .event = Opened{}}, output);
  for (const char* name : {"x", "y", "z"}) {
    engine.apply({.now = now, .conn = 1, .event = Command{Use{name}}}, output);
    engine.apply({.now = now, .conn = 1, .event = Command{Put{0, 0, 1, 0}}}, output);
  }
  engine.check();
  const std::map<TubeId, std::string> wanted = {
      {0, "default"}, {1, "x"}, {2, "y"}, {3, "three"}, {4, "z"}};
  EXPECT_EQ(engine.image().tubes, wanted);
}

}  // namespace
}  // namespace perennial::engine
