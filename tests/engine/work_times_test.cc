// How long jobs wait for a worker, how long workers have them, and how often which happens.

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

constexpr Nanos start = 1'700'000'000 * nanos_per_second;
constexpr ConnId producer = 1;
constexpr ConnId worker = 2;

class Times : public testing::Test {
 protected:
  explicit Times(const Limits& limits = {}) : engine_(limits) {
    apply(producer, Opened{});
    apply(worker, Opened{});
  }
  void apply(ConnId conn, Event event) {
    output_.clear();
    engine_.apply({.now = now_, .conn = conn, .event = std::move(event)}, output_);
    engine_.check();
  }
  void advance(Nanos by) {
    now_ += by;
    apply(0, Tick{});
  }
  void put(uint32_t delay_s = 0) { apply(producer, Command{Put{0, delay_s, 60, 1}}); }
  void reserve() { apply(worker, Command{Reserve{}}); }
  // The times of a histogram that holds at most one, in seconds; -1: it holds none.
  static double only(const WorkHistogram& histogram) {
    EXPECT_LE(histogram.count(), 1u);
    return histogram.count() == 0 ? -1 : histogram.view().sum / 1e9;
  }
  double wait() const { return only(engine_.view().work_times().wait); }
  double run(RunEnd how) const { return only(engine_.view().work_times().run_of(how)); }
  uint64_t runs() const {
    uint64_t all = 0;
    for (const WorkHistogram& each : engine_.view().work_times().run) all += each.count();
    return all;
  }

  Engine engine_;
  Output output_;
  Nanos now_ = start;
};

constexpr Nanos s = nanos_per_second;

TEST_F(Times, AJobWaitsFromItsPutToItsReservation) {
  put();
  advance(7 * s);
  EXPECT_EQ(wait(), -1);
  reserve();
  EXPECT_EQ(wait(), 7);
}

TEST_F(Times, AWorkerThatWaitsGetsAJobAtOnce) {
  reserve();
  advance(7 * s);
  put();
  EXPECT_EQ(wait(), 0);
}

TEST_F(Times, ADelayIsNoWait) {
  put(10);
  advance(10 * s);
  advance(3 * s);
  reserve();
  EXPECT_EQ(wait(), 3);
}

TEST_F(Times, AJobWaitsAnewAfterEachReturn) {
  put();
  reserve();  // 0.
  advance(5 * s);
  apply(worker, Command{Release{1, 0, 0}});
  advance(4 * s);
  reserve();  // 4.
  apply(worker, Command{Bury{1, 0}});
  advance(9 * s);
  apply(producer, Command{KickJob{1}});
  advance(2 * s);
  reserve();  // 2.
  EXPECT_EQ(engine_.view().work_times().wait.count(), 3u);
  EXPECT_EQ(engine_.view().work_times().wait.view().sum, 6e9);
}

TEST_F(Times, AChangeOfAReadyJobDoesNotEndItsWait) {
  put();
  advance(3 * s);
  apply(producer, Command{SetJob{.id = 1, .tube = "other", .priority = 5}});
  apply(producer, Command{SetJob{.id = 1, .delay = Duration{0}}});
  apply(producer, Command{MoveTube{"other", "default"}});
  advance(4 * s);
  reserve();
  EXPECT_EQ(wait(), 7);
}

TEST_F(Times, OnlyReadyJobsHaveWaited) {
  put(100);
  advance(5 * s);
  apply(worker, Command{ReserveJob{1}});
  EXPECT_EQ(wait(), -1);
}

struct EndCase {
  std::string name;
  RunEnd how;
  ConnId conn;
  Event event;
  Nanos later = 0;  // After the 20 s of the reservation.
};
class EndTest : public Times, public testing::WithParamInterface<EndCase> {};

TEST_P(EndTest, EndsTheRunOfAJob) {
  put();
  reserve();
  advance(20 * s);
  EXPECT_EQ(runs(), 0u);
  now_ += GetParam().later;
  apply(GetParam().conn, GetParam().event);
  EXPECT_EQ(run(GetParam().how), static_cast<double>((20 * s + GetParam().later) / s));
  EXPECT_EQ(runs(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Times, EndTest,
    testing::Values(EndCase{"Delete", RunEnd::Deleted, worker, Command{Delete{1}}},
                    EndCase{"DeleteBatch", RunEnd::Deleted, worker, Command{DeleteBatch{{1}}}},
                    EndCase{"Flush", RunEnd::Deleted, producer, Command{FlushTube{"default"}}},
                    EndCase{"Release", RunEnd::Released, worker, Command{Release{1, 0, 0}}},
                    EndCase{"ReleaseWithDelay", RunEnd::Released, worker,
                            Command{Release{1, 0, 9}}},
                    EndCase{"Move", RunEnd::Released, producer,
                            Command{MoveTube{"default", "other", StateSet::all()}}},
                    EndCase{"Bury", RunEnd::Buried, worker, Command{Bury{1, 0}}},
                    EndCase{"Damage", RunEnd::Buried, 0, Damaged{1}},
                    EndCase{"Timeout", RunEnd::Timeout, 0, Tick{}, 40 * s},
                    EndCase{"Close", RunEnd::Closed, worker, Closed{}},
                    EndCase{"Quit", RunEnd::Closed, worker, Closed{.after_quit = true}}),
    [](const auto& param) { return param.param.name; });

TEST_F(Times, ATouchDoesNotShortenTheRun) {
  put();
  reserve();
  advance(50 * s);
  apply(worker, Command{Touch{1}});
  advance(50 * s);
  apply(worker, Command{Delete{1}});
  EXPECT_EQ(run(RunEnd::Deleted), 100);
}

TEST_F(Times, AChangeOfAReservedJobDoesNotShortenTheRun) {
  put();
  reserve();
  advance(5 * s);
  apply(worker, Command{SetJob{.id = 1, .tube = "other", .priority = 5}});
  advance(5 * s);
  apply(worker, Command{Delete{1}});
  EXPECT_EQ(run(RunEnd::Deleted), 10);
}

TEST_F(Times, AJobThatNobodyHasReservedHasNoRun) {
  put();
  put(10);
  apply(producer, Command{Delete{1}});
  apply(producer, Command{FlushTube{"default"}});
  EXPECT_EQ(runs(), 0u);
}

TEST_F(Times, JobsAreCountedAsTheyLeave) {
  for (int i = 0; i < 6; ++i) put();
  for (int i = 0; i < 5; ++i) reserve();
  apply(worker, Command{DeleteBatch{{1, 2}}});
  apply(worker, Command{Release{3, 0, 100}});
  apply(worker, Command{Bury{4, 0}});
  apply(producer, Command{Kick{10}});
  apply(producer, Command{KickJob{3}});
  apply(producer, Command{FlushTube{"default", StateSet{JobState::Ready}}});
  const JobEnds counted = {.reserved = 5, .deleted = 5, .released = 1, .buried = 1, .kicked = 2};
  EXPECT_EQ(engine_.view().statistics().job_ends, counted);
  EXPECT_EQ(engine_.view().tube_statistics(0)->job_ends, counted);
  EXPECT_EQ(engine_.view().job_count(), 1u);
}

TEST_F(Times, ATubeCountsItsTimeouts) {
  put();
  reserve();
  advance(60 * s);
  EXPECT_EQ(engine_.view().tube_statistics(0)->timeouts, 1u);
  reserve();
  apply(worker, Command{Bury{1, 0}});
  EXPECT_EQ(engine_.view().tube_statistics(0)->next_buried_age, 60 * s);
  EXPECT_EQ(engine_.view().tube_statistics(0)->timeouts, 1u);
}

// Tubes whose names begin with m are measured, those of a group under its name.
MeasuredName name_of(std::string_view tube) {
  if (tube.starts_with("mg")) return {.name = "group", .is_group = true};
  return tube.starts_with('m') ? MeasuredName{.name = std::string(tube)} : MeasuredName();
}

class Measured : public Times {
 protected:
  Measured() : Times({.measured_as = name_of, .measured_max = 3}) {}

  void use(const std::string& tube) { apply(producer, Command{Use{tube}}); }
  // Puts a job into the tube, which waits for 2 s and runs for 3 s.
  void work(const std::string& tube) {
    use(tube);
    put();
    const JobId id = engine_.view().next_id() - 1;
    advance(2 * s);
    apply(worker, Command{Watch{tube}});
    reserve();
    advance(3 * s);
    apply(worker, Command{Delete{id}});
    apply(worker, Command{Ignore{tube}});
  }
  // "m1: 2 4 2 6" for a tube with two waits of 4 s together, and two runs of 6 s.
  std::vector<std::string> counts() const {
    std::vector<std::string> out;
    const auto text = [](const WorkHistogram& times) {
      return " " + std::to_string(times.count()) + " " +
             std::to_string(static_cast<int>(times.view().sum / 1e9));
    };
    for (const auto& [name, record] : engine_.view().measured_tubes()) {
      out.push_back(name + ":" + text(record.times.wait) + text(record.times.run));
    }
    return out;
  }
};
using Counts = std::vector<std::string>;

TEST_F(Measured, ATubeHasWaitsAndRunsOfItsOwn) {
  work("m1");
  work("m1");
  work("other");
  // It has ended, as its other counts have.
  EXPECT_EQ(counts(), Counts());
  apply(producer, Command{Watch{"m1"}});
  work("m1");
  work("m1");
  work("other");
  EXPECT_EQ(counts(), Counts{"m1: 2 4 2 6"});
  EXPECT_EQ(engine_.view().work_times().wait.count(), 6u);
}

TEST_F(Measured, EveryEndOfARunCounts) {
  use("m1");
  put();
  apply(worker, Command{Watch{"m1"}});
  reserve();
  advance(s);
  apply(worker, Command{Release{1, 0, 0}});
  reserve();
  advance(60 * s);
  reserve();
  apply(worker, Command{Bury{1, 0}});
  EXPECT_EQ(counts(), Counts{"m1: 3 0 3 61"});
}

// A job that is moved counts where it is reserved.
TEST_F(Measured, AJobCountsInTheTubeThatItIsIn) {
  apply(producer, Command{Watch{"m1"}});
  use("other");
  put();
  advance(2 * s);
  apply(producer, Command{MoveTube{"other", "m1"}});
  apply(worker, Command{Watch{"m1"}});
  reserve();
  EXPECT_EQ(counts(), Counts{"m1: 1 2 0 0"});
}

// What a group has counted does not go back when one of its tubes ends.
TEST_F(Measured, AGroupKeepsItsCounts) {
  work("mg1");
  work("mg2");
  use("default");
  EXPECT_EQ(counts(), Counts{"group: 2 4 2 6"});
}

// At the limit, and one past it.
TEST_F(Measured, NoMoreThanTheLimitAreMeasured) {
  for (const char* tube : {"m1", "m2", "m3", "m4"}) apply(producer, Command{Watch{tube}});
  EXPECT_EQ(counts(), (Counts{"m1: 0 0 0 0", "m2: 0 0 0 0", "m3: 0 0 0 0"}));
  work("m4");
  EXPECT_EQ(counts().size(), 3u);
  // A tube that begins when another has ended has its place.
  apply(producer, Command{Ignore{"m2"}});
  apply(producer, Command{Watch{"m5"}});
  work("m5");
  EXPECT_EQ(counts(), (Counts{"m1: 0 0 0 0", "m3: 0 0 0 0", "m5: 1 2 1 3"}));
}

TEST_F(Times, NothingIsMeasuredUnlessItIsAskedFor) {
  put();
  reserve();
  EXPECT_TRUE(engine_.view().measured_tubes().empty());
}

// The bodies of all jobs, whatever becomes of them.
TEST_F(Times, TheBodiesOfAllJobsAreSummedUp) {
  apply(producer, Command{Put{0, 0, 60, 100}});
  apply(producer, Command{Put{0, 0, 60, 30}});
  reserve();
  EXPECT_EQ(engine_.view().statistics().body_bytes, 130u);
  apply(worker, Command{Delete{1}});
  EXPECT_EQ(engine_.view().statistics().body_bytes, 30u);
  apply(producer, Command{FlushTube{"default"}});
  EXPECT_EQ(engine_.view().statistics().body_bytes, 0u);
}

struct RestartCase {
  std::string name;
  JobRow row;
  double wait;  // Of a job that is reserved 10 s after the restart.
};
class RestartTest : public testing::TestWithParam<RestartCase> {};

// The job was put 100 s before the restart. Its row says since when it is ready, or that was
// always.
TEST_P(RestartTest, AReadyJobHasWaitedAlsoBefore) {
  Engine engine((Limits()));
  ASSERT_TRUE(engine.restore_tube(0, "default").ok());
  JobRow row = GetParam().row;
  row.id = 1;
  row.ttr_s = 60;
  row.created = start - 100 * s;
  ASSERT_TRUE(engine.restore_job(row, start).ok());
  Output out;
  ASSERT_TRUE(engine.finish_restore(2, start, out).ok());
  engine.apply({.now = start, .event = Tick{}}, out);
  engine.apply({.now = start + 10 * s, .conn = 1, .event = Opened{}}, out);
  engine.apply({.now = start + 10 * s, .conn = 1, .event = Command{Reserve{}}}, out);
  engine.check();
  EXPECT_EQ(engine.view().work_times().wait.count(), 1u);
  EXPECT_EQ(engine.view().work_times().wait.view().sum, GetParam().wait * 1e9);
  // How long the job was reserved before the restart is not known.
  for (const WorkHistogram& each : engine.view().work_times().run) EXPECT_EQ(each.count(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Times, RestartTest,
    testing::Values(RestartCase{"Ready", {}, 110},
                    RestartCase{"Released", {.order = start - 30 * s, .reserves = 1}, 40},
                    RestartCase{"Delayed", {.delay_s = 5, .order = start - 95 * s}, 105},
                    RestartCase{"NotKnown", {.reserves = 1}, 10},
                    RestartCase{"InTheFuture", {.order = start + 30 * s, .reserves = 1}, 10},
                    RestartCase{"Reserved", {.state = JobState::Reserved, .reserves = 1}, 10}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace perennial::engine
