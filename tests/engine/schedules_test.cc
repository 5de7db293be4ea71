// Schedules: when they put a job, and what becomes of a planned time without one. The load has
// periods, an expression, and times that come once, with wall clocks that jump, puts that are
// refused, restarts, and zones that are unknown. It has no bodies, which are core's, and no real
// calendar: tests/cmd/common/calendar. It is blind to what is on disk.

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/types/later.h"
#include "tests/support/fake_calendar.h"

namespace perennial::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Nanos second = nanos_per_second;
constexpr Nanos minute = 60 * second;
constexpr Nanos hour = 60 * minute;
// A whole minute, so that the times of "minute" are easy to read.
constexpr Nanos start = 1'700'000'040 * second;
constexpr ConnId client = 1;
constexpr ConnId worker = 2;

Schedule every(Nanos period, std::string name = "s") {
  return {.name = std::move(name),
          .tube = "t",
          .when = ScheduleEvery{period},
          .put = {5, 0, 60, 3, {}},
          .missed_max = 1};
}
Schedule cron(std::string expression, std::string zone = "UTC") {
  Schedule schedule = every(second);
  schedule.when = ScheduleCron{std::move(expression), std::move(zone)};
  return schedule;
}
Schedule at(Nanos time) {
  Schedule schedule = every(second);
  schedule.when = ScheduleAt{time};
  return schedule;
}

class Schedules : public testing::Test {
 protected:
  Schedules() { open(); }

  void open() {
    apply(Opened{}, client);
    apply(Opened{}, worker);
    apply(Command{Watch{"t"}}, worker);
  }
  // Folds what it gives, and compares that with the engine.
  void apply(Event event, ConnId conn = client) {
    output_.clear();
    engine_->apply({.now = now_,
                    .wall = wall_,
                    .conn = conn,
                    .accepts_puts = accepts_,
                    .event = std::move(event),
                    .user = "ann"},
                   output_);
    std::optional<JobId> last_job;
    for (const Transition& transition : output_.transitions) {
      fold(folded_, transition);
      EXPECT_TRUE(!is_of_schedule(transition) || is_promised(transition));
      if (const auto* const changed = std::get_if<ScheduleChanged>(&transition)) {
        last_job = changed->progress.last_job;
      }
      const auto* const moved = std::get_if<JobMoved>(&transition);
      if (moved == nullptr || moved->before) continue;
      const auto& fields = moved->after->fields;
      if (!fields || !fields->schedule) continue;
      EXPECT_EQ(last_job, moved->id) << "the schedule is changed just before";
      EXPECT_TRUE(moved->promised);
      planned_.push_back((fields->schedule->planned - start) / second);
    }
    engine_->check();
    EXPECT_EQ(engine_->image(), folded_);
  }
  Word set(const Schedule& schedule, std::optional<bool> is_paused = {}) {
    apply(Command(set_schedule(schedule, is_paused)));
    return word();
  }
  // Both clocks go on.
  void pass(Nanos time) {
    now_ += time;
    wall_ += time;
    apply(Tick{});
  }
  // For which times, in seconds since the start, jobs were put since the last call.
  std::vector<int64_t> planned() { return std::exchange(planned_, {}); }
  Word word() const { return std::get<Word>(output_.replies.at(0).reply); }
  const ScheduleProgress& progress(const std::string& name = "s") const {
    return engine_->view().schedule(name)->stored->progress;
  }
  std::optional<int64_t> next(const std::string& name = "s") const {
    const auto& planned = progress(name).planned;
    return planned ? std::optional((*planned - start) / second) : std::nullopt;
  }
  // A start from what the store has.
  void restart() {
    engine_ = std::make_unique<Engine>(limits());
    for (const auto& [id, name] : folded_.tubes) EXPECT_TRUE(engine_->restore_tube(id, name).ok());
    for (const auto& [id, row] : folded_.jobs) EXPECT_TRUE(engine_->restore_job(row, now_).ok());
    for (const auto& [name, key] : folded_.keys) EXPECT_TRUE(engine_->restore_key(key, now_).ok());
    for (const auto& [name, stored] : folded_.schedules) {
      EXPECT_TRUE(engine_->restore_schedule(stored).ok());
    }
    output_.clear();
    EXPECT_TRUE(engine_->finish_restore(folded_.id_limit, now_, output_).ok());
    for (const Transition& transition : output_.transitions) fold(folded_, transition);
  }
  Limits limits() const {
    return {.schedules_max = 3,
            .calendar = std::make_shared<support::FakeCalendar>(knows_gone_, shift_),
            .transitions_per_turn_max = transitions_max_,
            .cost_per_turn_max = cost_max_};
  }

  bool knows_gone_ = false;
  int64_t shift_ = 0;
  uint32_t transitions_max_ = 10'000;
  uint64_t cost_max_ = 500'000;
  std::unique_ptr<Engine> engine_ = std::make_unique<Engine>(limits());
  Output output_;
  Image folded_;
  std::vector<int64_t> planned_;
  Nanos now_ = start;
  Nanos wall_ = start;
  bool accepts_ = true;
};

TEST_F(Schedules, PutAJobAtEachPlannedTime) {
  EXPECT_EQ(set(every(10 * second)), Word::Set);
  EXPECT_EQ(next(), 10);
  EXPECT_EQ(engine_->next_deadline(), now_ + 10 * second);
  pass(9 * second);
  EXPECT_THAT(planned(), IsEmpty());
  pass(second);
  pass(0);
  pass(11 * second);
  EXPECT_THAT(planned(), ElementsAre(10, 20));
  EXPECT_EQ(next(), 30);
  EXPECT_EQ(progress().fired, 2u);
  EXPECT_EQ(progress().last_planned, start + 20 * second);
  EXPECT_EQ(progress().last_fired, start + 21 * second);
  EXPECT_EQ(progress().last_job, 2u);
  EXPECT_EQ(engine_->next_deadline(), now_ + 9 * second);
  EXPECT_EQ(engine_->next_deadline(false), std::nullopt) << "not before the disk has the last ones";
}

TEST_F(Schedules, PutJobsThatSayWhereTheyComeFrom) {
  Schedule schedule = every(10 * second);
  schedule.put.options.make().tries = TriesOption{1};
  schedule.put.options->dead = "grave";
  set(schedule);
  pass(10 * second);
  const JobStats stats = engine_->view().job_statistics(1).value();
  EXPECT_EQ(stats.tube, "t");
  EXPECT_EQ(stats.priority, 5u);
  EXPECT_EQ(stats.body_bytes, 3u);
  EXPECT_EQ(stats.more->schedule, "s");
  EXPECT_EQ(stats.more->planned, start + 10 * second);
  apply(Command{ReserveJob{1}}, worker);
  apply(Command{Release{1, 0, 0}}, worker);
  const JobStats dead = engine_->view().job_statistics(1).value();
  EXPECT_EQ(dead.tube, "grave");
  EXPECT_EQ(dead.more->schedule, "s");
  EXPECT_EQ(dead.more->planned, start + 10 * second);
  restart();
  EXPECT_EQ(engine_->view().job_statistics(1)->more->schedule, "s");
}

TEST_F(Schedules, HandTheirJobsToWhoeverWaits) {
  set(every(10 * second));
  apply(Command{Reserve{}}, worker);
  pass(10 * second);
  ASSERT_EQ(output_.replies.size(), 1u);
  EXPECT_EQ(output_.replies[0].conn, worker);
  EXPECT_EQ(std::get<JobReply>(output_.replies[0].reply).id, 1u);
}

TEST_F(Schedules, ThatAreSetAgainGoOnWhereTheyAre) {
  set(every(10 * second));
  pass(15 * second);
  Schedule other = every(10 * second);
  other.put.priority = 1;
  other.missed_max = 0;
  set(other);
  EXPECT_EQ(next(), 20);
  EXPECT_EQ(progress().fired, 1u);
  other.when = ScheduleEvery{20 * second};
  set(other);
  EXPECT_EQ(next(), 35) << "another period has its own anchor, and begins now";
  other.when = ScheduleEvery{20 * second, start};
  set(other);
  EXPECT_EQ(next(), 20);
  other.when = ScheduleEvery{20 * second};
  set(other);
  EXPECT_EQ(next(), 20) << "the anchor stays";
  EXPECT_EQ(progress().fired, 1u);
  EXPECT_EQ(engine_->view().schedule_counts().schedules, 1u);
}

struct MissedCase {
  std::string name;
  Schedule schedule;
  uint32_t missed_max = 1;
  Nanos down = 0;
  std::vector<int64_t> want = {};
  std::optional<int64_t> next = {};
  uint64_t missed = 0;
};
class Missed : public Schedules, public testing::WithParamInterface<MissedCase> {};

// The server is down for a while, or the wall clock is put forward: it is the same.
TEST_P(Missed, IsMadeUpForByTheRule) {
  Schedule schedule = GetParam().schedule;
  schedule.missed_max = GetParam().missed_max;
  set(schedule);
  const Image before = folded_;
  pass(GetParam().down);
  EXPECT_EQ(planned(), GetParam().want);
  EXPECT_EQ(next(), GetParam().next);
  EXPECT_EQ(progress().missed, GetParam().missed);
  EXPECT_EQ(progress().fired, GetParam().want.size());
  const ScheduleProgress passed = progress();
  folded_ = before;
  restart();
  apply(Tick{});
  EXPECT_EQ(planned(), GetParam().want) << "after a restart";
  EXPECT_EQ(progress().planned, passed.planned);
  EXPECT_EQ(progress().missed, passed.missed);
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, Missed,
    testing::Values(
        MissedCase{"OneOfOne", every(10 * second), 1, 19 * second, {10}, 20, 0},
        MissedCase{"OneOfMany", every(10 * second), 1, 105 * second, {100}, 110, 9},
        MissedCase{"OneAtTheLastTime", every(10 * second), 1, 100 * second, {100}, 110, 9},
        MissedCase{"TwoOfMany", every(10 * second), 2, 105 * second, {10, 100}, 110, 8},
        MissedCase{"ThreeOfThree", every(10 * second), 3, 35 * second, {10, 20, 30}, 40, 0},
        MissedCase{"ThreeOfFour", every(10 * second), 3, 45 * second, {10, 20, 40}, 50, 1},
        MissedCase{"NoneInTime", every(minute), 0, 119 * second, {60}, 120, 0},
        MissedCase{"NoneAtTheEndOfTheGrace", every(hour), 0, hour + minute, {3600}, 7200, 0},
        MissedCase{"NoneTooLate", every(hour), 0, hour + minute + 1, {}, 7200, 1},
        MissedCase{"NoneOfMany", every(hour), 0, 5 * hour + 2 * minute, {}, 21600, 5},
        MissedCase{"NoneButTheLast", every(hour), 0, 5 * hour + minute, {18000}, 21600, 4},
        MissedCase{
            "OneOfAYear", every(second), 1, 365 * 24 * hour, {31'536'000}, 31'536'001, 31'535'999},
        MissedCase{"CronOne", cron("minute"), 1, hour + second, {3600}, 3660, 1},
        MissedCase{"CronNone", cron("minute"), 0, hour + second, {3600}, 3660, 1},
        MissedCase{"CronThree", cron("minute"), 3, hour, {60, 120, 3600}, 3660, 1},
        MissedCase{"CronIrregular", cron("odd"), 1, 24 * second, {24}, 31, 1},
        MissedCase{"CronThatEnds", cron("early"), 1, hour, {59}, std::nullopt, 1},
        MissedCase{"AtInTime", at(start + 5 * second), 0, 6 * second, {5}, std::nullopt, 0},
        MissedCase{"AtTooLate", at(start + 5 * second), 0, hour, {}, std::nullopt, 1},
        MissedCase{"AtLate", at(start + 5 * second), 1, hour, {5}, std::nullopt, 0},
        MissedCase{"AtThatHasPassed", at(start - hour), 1, 0, {-3600}, std::nullopt, 0},
        MissedCase{"AtThatHasPassedForNone", at(start - hour), 0, 0, {}, std::nullopt, 1}),
    [](const auto& each) { return each.param.name; });

TEST_F(Schedules, OfAThousandMissedTimesPutAThousand) {
  Schedule schedule = every(second);
  schedule.missed_max = schedule_missed_limit;
  set(schedule);
  transitions_max_ = 100;
  restart();
  now_ += 2'000 * second;
  wall_ += 2'000 * second;
  int turns = 0;
  do {
    apply(Tick{});
    ++turns;
  } while (engine_->next_deadline() <= now_);
  const std::vector<int64_t> found = planned();
  ASSERT_EQ(found.size(), 1'000u);
  for (int64_t i = 0; i < 999; ++i) EXPECT_EQ(found[static_cast<size_t>(i)], i + 1);
  EXPECT_EQ(found.back(), 2'000);
  EXPECT_EQ(turns, 20) << "each job has two transitions";
  pass(2'000 * second);
  while (engine_->next_deadline() <= now_) apply(Tick{});
  EXPECT_EQ(planned().size(), 1'000u) << "the next time it is the same";
}

TEST_F(Schedules, FireNothingTwiceWhereTheWallClockGoesBack) {
  set(every(10 * second));
  pass(20 * second);
  EXPECT_THAT(planned(), ElementsAre(20));
  wall_ -= hour;
  for (int i = 0; i < 359; ++i) pass(10 * second);
  EXPECT_THAT(planned(), IsEmpty());
  EXPECT_EQ(engine_->next_deadline(), now_ + 20 * second);
  pass(20 * second);
  EXPECT_THAT(planned(), ElementsAre(30));
}

TEST_F(Schedules, AreDueAtOnceWhereTheWallClockGoesForward) {
  set(every(hour));
  wall_ += 3 * hour + minute;
  apply(Command{Peek{1}});
  EXPECT_EQ(engine_->next_deadline(), now_);
  pass(0);
  EXPECT_THAT(planned(), ElementsAre(10'800));
}

TEST_F(Schedules, AreDueLaterByTheirJitter) {
  Schedule schedule = every(10 * second);
  schedule.jitter = 7 * second;
  set(schedule);
  const Nanos offset = engine_->view().schedule("s")->offset;
  ASSERT_EQ(offset, 115 * nanos_per_ms) << "by the fake calendar";
  EXPECT_EQ(engine_->next_deadline(), now_ + 10 * second + offset);
  pass(10 * second);
  EXPECT_THAT(planned(), IsEmpty());
  pass(offset);
  EXPECT_THAT(planned(), ElementsAre(10));
  pass(50 * second - 1);
  EXPECT_THAT(planned(), ElementsAre(50)) << "60 is not due yet";
  pass(1);
  EXPECT_THAT(planned(), ElementsAre(60));
}

TEST_F(Schedules, ThatArePausedMissNothing) {
  set(every(10 * second));
  apply(Command(PauseSchedule{"s"}));
  EXPECT_EQ(word(), Word::Paused);
  EXPECT_EQ(engine_->next_deadline(), std::nullopt);
  pass(35 * second);
  set(every(10 * second));
  EXPECT_TRUE(progress().is_paused) << "a deploy that sets it again does not end the pause";
  apply(Command(PauseSchedule{"s", No{true}}));
  EXPECT_EQ(word(), Word::Set);
  EXPECT_EQ(next(), 40);
  pass(0);
  EXPECT_THAT(planned(), IsEmpty());
  EXPECT_EQ(progress().missed, 0u);
  set(every(10 * second), true);
  pass(10 * second);
  EXPECT_EQ(next(), 40);
  set(every(10 * second), false);
  EXPECT_EQ(next(), 50);
}

TEST_F(Schedules, ThatArePausedComeToNoTimeAgain) {
  set(every(10 * second));
  pass(20 * second);
  apply(Command(PauseSchedule{"s"}));
  wall_ -= hour;
  apply(Command(PauseSchedule{"s", No{true}}));
  EXPECT_EQ(next(), 30);
  set(at(start - hour + 21 * second));
  pass(second);
  EXPECT_THAT(planned(), ElementsAre(20, -3'579));
  EXPECT_EQ(progress().state, ScheduleState::Over);
  apply(Command(PauseSchedule{"s"}));
  wall_ -= hour;
  apply(Command(PauseSchedule{"s", No{true}}));
  EXPECT_EQ(progress().state, ScheduleState::Over);
}

// What is due once has no other time.
TEST_F(Schedules, WhoseOneTimePassesInAPauseMakeUpForIt) {
  set(at(start + 10 * second));
  apply(Command(PauseSchedule{"s"}));
  pass(hour);
  apply(Command(PauseSchedule{"s", No{true}}));
  pass(0);
  EXPECT_THAT(planned(), ElementsAre(10));
  EXPECT_EQ(progress().state, ScheduleState::Over);
}

// The wall clock has gone forward, and the next command is there before a Tick.
TEST_F(Schedules, PutWhatHasComeBeforeTheyChange) {
  Schedule schedule = every(10 * second);
  schedule.missed_max = schedule_missed_limit;
  set(schedule);
  wall_ += 30 * second;
  apply(Command(PauseSchedule{"s"}));
  EXPECT_THAT(planned(), ElementsAre(10, 20, 30));
  EXPECT_TRUE(progress().is_paused);
  apply(Command(PauseSchedule{"s", No{true}}));
  wall_ += 20 * second;
  schedule.when = ScheduleEvery{7 * second};
  set(schedule);
  EXPECT_THAT(planned(), ElementsAre(40, 50));
  EXPECT_EQ(next(), 57);
}

TEST_F(Schedules, OfOtherTimesComeToNoTimeAgain) {
  set(every(10 * second));
  pass(40 * second);
  EXPECT_THAT(planned(), ElementsAre(40));
  wall_ -= 25 * second;
  Schedule other = every(10 * second);
  other.when = ScheduleEvery{10 * second, start - 10 * second};
  set(other);
  EXPECT_EQ(next(), 50);
}

TEST_F(Schedules, OfOtherTimesKeepTheTimeThatTheirJitterDelays) {
  Schedule schedule = cron("minute");
  schedule.jitter = 7 * second;
  set(schedule);
  pass(minute);
  EXPECT_THAT(planned(), IsEmpty()) << "it is due 115 ms later";
  schedule.when = ScheduleEvery{30 * second, start};
  set(schedule);
  EXPECT_EQ(next(), 60) << "60 is a time of both";
  schedule.when = ScheduleEvery{25 * second, start};
  set(schedule);
  EXPECT_EQ(next(), 75);
}

// A clock that was a year ahead for a moment.
TEST_F(Schedules, ThatAWrongClockHasLedFarAheadComeBackByAPause) {
  constexpr Nanos year = 365 * 24 * hour;
  set(every(10 * second));
  wall_ += year;
  pass(0);
  EXPECT_THAT(planned(), ElementsAre(year / second));
  wall_ -= year;
  pass(15 * second);
  EXPECT_THAT(planned(), IsEmpty());
  EXPECT_EQ(next(), year / second + 10);
  apply(Command(PauseSchedule{"s"}));
  apply(Command(PauseSchedule{"s", No{true}}));
  EXPECT_EQ(next(), 20);
  pass(5 * second);
  EXPECT_THAT(planned(), ElementsAre(20));
  // One that was set by such a clock, and has put no job.
  wall_ += year;
  set(cron("minute"));
  wall_ -= year;
  apply(Command(PauseSchedule{"s"}));
  apply(Command(PauseSchedule{"s", No{true}}));
  EXPECT_EQ(next(), 60);
}

struct OverlapCase {
  std::string name;
  ScheduleOverlap overlap;
  std::string last;  // What became of the job before.
  uint64_t jobs = 0;
  uint64_t fired = 0;
  uint64_t skipped = 0;
};
class Overlap : public Schedules, public testing::WithParamInterface<OverlapCase> {};

TEST_P(Overlap, IsByTheJobBefore) {
  Schedule schedule = every(10 * second);
  schedule.overlap = GetParam().overlap;
  set(schedule);
  pass(10 * second);
  const std::string& last = GetParam().last;
  if (last == "reserved" || last == "buried") apply(Command{ReserveJob{1}}, worker);
  if (last == "buried") apply(Command{Bury{1, PriorityOrKeep()}}, worker);
  if (last == "gone") apply(Command{Delete{1}});
  pass(10 * second);
  EXPECT_EQ(engine_->view().job_count(), GetParam().jobs);
  EXPECT_EQ(progress().fired, GetParam().fired);
  EXPECT_EQ(progress().skipped, GetParam().skipped);
  EXPECT_EQ(next(), 30);
  EXPECT_EQ(
      engine_->view().job_statistics(1).has_value(),
      last != "gone" && (GetParam().overlap != ScheduleOverlap::Replace || last == "reserved"));
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, Overlap,
    testing::Values(OverlapCase{"AllowReady", ScheduleOverlap::Allow, "ready", 2, 2, 0},
                    OverlapCase{"SkipReady", ScheduleOverlap::Skip, "ready", 1, 1, 1},
                    OverlapCase{"SkipReserved", ScheduleOverlap::Skip, "reserved", 1, 1, 1},
                    OverlapCase{"SkipBuried", ScheduleOverlap::Skip, "buried", 1, 1, 1},
                    OverlapCase{"SkipGone", ScheduleOverlap::Skip, "gone", 1, 2, 0},
                    OverlapCase{"ReplaceReady", ScheduleOverlap::Replace, "ready", 1, 2, 0},
                    OverlapCase{"ReplaceBuried", ScheduleOverlap::Replace, "buried", 1, 2, 0},
                    OverlapCase{"ReplaceReserved", ScheduleOverlap::Replace, "reserved", 2, 2, 0},
                    OverlapCase{"ReplaceGone", ScheduleOverlap::Replace, "gone", 1, 2, 0}),
    [](const auto& each) { return each.param.name; });

TEST_F(Schedules, WhoseKeyIsTakenAreSkipped) {
  Schedule schedule = every(10 * second);
  schedule.put.options.make().key = KeyOption{"k"};
  set(schedule);
  pass(10 * second);
  pass(10 * second);
  EXPECT_THAT(planned(), ElementsAre(10));
  EXPECT_EQ(progress().skipped, 1u);
  EXPECT_EQ(progress().last_planned, start + 10 * second);
  EXPECT_EQ(next(), 30);
  apply(Command(RunSchedule{"s"}));
  EXPECT_EQ(std::get<Duplicate>(output_.replies.at(0).reply).id, 1u);
}

// The one that goes has the key, and makes way also where there may be no further job.
TEST_F(Schedules, ThatReplaceTakeThePlaceAndTheKey) {
  Schedule schedule = every(10 * second);
  schedule.put.options.make().key = KeyOption{"k", 3600};
  schedule.overlap = ScheduleOverlap::Replace;
  Limits limited = limits();
  limited.jobs_max = 1;
  limited.keys_max = 1;
  engine_ = std::make_unique<Engine>(limited);
  folded_ = {};
  open();
  set(schedule);
  pass(10 * second);
  pass(10 * second);
  EXPECT_THAT(planned(), ElementsAre(10, 20));
  EXPECT_EQ(engine_->view().job_count(), 1u);
  // Another tube has no job, and gets the one of the schedule.
  schedule.tube = "u";
  set(schedule);
  pass(10 * second);
  EXPECT_THAT(planned(), IsEmpty()) << "its key in the other tube is a further one";
  EXPECT_EQ(engine_->view().job_count(), 1u) << "the old one stays where the new one is refused";
  schedule.put.options.reset();
  set(schedule);
  pass(0);
  EXPECT_THAT(planned(), ElementsAre(30));
  EXPECT_EQ(engine_->view().job_statistics(3)->tube, "u");
}

TEST_F(Schedules, WhosePutIsRefusedAreTriedAgain) {
  Schedule schedule = every(100 * second);
  schedule.missed_max = 0;
  set(schedule);
  accepts_ = false;
  pass(100 * second);
  EXPECT_TRUE(output_.transitions.empty()) << "nothing is stored";
  EXPECT_EQ(engine_->view().schedule("s")->refusal, PutRefusal::Space);
  EXPECT_EQ(engine_->view().schedule_counts().refused, 1u);
  EXPECT_EQ(engine_->next_deadline(), now_ + second);
  for (int i = 0; i < 70; ++i) pass(second);
  EXPECT_EQ(engine_->view().schedule_counts().refusals, 71u);
  accepts_ = true;
  pass(second);
  EXPECT_THAT(planned(), ElementsAre(100)) << "a time that was refused is not too late";
  EXPECT_EQ(engine_->view().schedule_counts().refused, 0u);
  EXPECT_EQ(progress().last_fired, start + 171 * second);
  EXPECT_EQ(progress().missed, 0u);
  EXPECT_EQ(engine_->next_deadline(), now_ + 29 * second);
}

TEST_F(Schedules, WhosePutIsRefusedUntilTheNextTimeMissOne) {
  set(every(10 * second));
  accepts_ = false;
  pass(10 * second);
  for (int i = 0; i < 15; ++i) pass(second);
  accepts_ = true;
  pass(second);
  EXPECT_THAT(planned(), ElementsAre(20));
  EXPECT_EQ(progress().missed, 1u);
  EXPECT_EQ(next(), 30);
}

TEST_F(Schedules, WhosePutIsRefusedAreNoMoreWhereTheWallClockGoesBack) {
  set(every(10 * second));
  accepts_ = false;
  pass(10 * second);
  wall_ -= minute;
  pass(second);
  EXPECT_EQ(engine_->view().schedule_counts().refused, 0u);
  EXPECT_EQ(engine_->next_deadline(), now_ + 59 * second);
  accepts_ = true;
  pass(59 * second);
  EXPECT_THAT(planned(), ElementsAre(10));
}

TEST_F(Schedules, OfATubeThatDrainsAreRefused) {
  set(every(10 * second));
  apply(Command{SetTube{.tube = "t", .drain = {true, YesOrNo{true}}}});
  pass(10 * second);
  EXPECT_THAT(planned(), IsEmpty());
  EXPECT_EQ(engine_->view().puts_refused()[static_cast<size_t>(PutRefusal::Draining)], 1u);
  apply(Command(RunSchedule{"s"}));
  EXPECT_EQ(word(), Word::Draining);
  apply(Command{SetTube{.tube = "t", .drain = {true, YesOrNo{false}}}});
  pass(second);
  EXPECT_THAT(planned(), ElementsAre(10));
}

TEST_F(Schedules, AreRunOnceMore) {
  set(every(10 * second), true);
  pass(3 * second);
  apply(Command(RunSchedule{"s"}));
  const auto& reply = std::get<NumberReply>(output_.replies.at(0).reply);
  EXPECT_EQ(reply.word, Word::Inserted);
  EXPECT_EQ(reply.number, 1u);
  EXPECT_THAT(planned(), ElementsAre(3)) << "also while it is paused";
  EXPECT_EQ(next(), 10);
  EXPECT_EQ(progress().fired, 1u);
  accepts_ = false;
  apply(Command(RunSchedule{"s"}));
  EXPECT_EQ(word(), Word::OutOfMemory);
  EXPECT_EQ(engine_->view().schedule("s")->refusal, std::nullopt);
}

TEST_F(Schedules, ThatSkipAreNotRunBesideTheirJob) {
  Schedule schedule = every(10 * second);
  schedule.overlap = ScheduleOverlap::Skip;
  set(schedule);
  apply(Command(RunSchedule{"s"}));
  apply(Command(RunSchedule{"s"}));
  EXPECT_EQ(std::get<Duplicate>(output_.replies.at(0).reply).id, 1u);
  EXPECT_EQ(progress().skipped, 1u);
}

TEST_F(Schedules, ThatAreNotThereAreNotFound) {
  for (const Command& command :
       std::vector<Command>{DeleteSchedule{"s"}, PauseSchedule{"s"}, PauseSchedule{"s", No{true}},
                            RunSchedule{"s"}}) {
    apply(command);
    EXPECT_EQ(word(), Word::NotFound);
  }
  EXPECT_FALSE(engine_->view().schedule("s"));
}

TEST_F(Schedules, ThatAreDeletedLeaveTheirJobs) {
  set(every(10 * second));
  pass(10 * second);
  apply(Command(DeleteSchedule{"s"}));
  EXPECT_EQ(word(), Word::Deleted);
  EXPECT_EQ(engine_->next_deadline(), std::nullopt);
  EXPECT_EQ(engine_->view().job_count(), 1u);
  EXPECT_EQ(engine_->view().schedule_counts().schedules, 0u);
  pass(hour);
  EXPECT_THAT(planned(), ElementsAre(10));
}

TEST_F(Schedules, AreAtMostSoMany) {
  for (const std::string name : {"a", "b", "c"}) EXPECT_EQ(set(every(second, name)), Word::Set);
  EXPECT_EQ(set(every(second, "d")), Word::OutOfMemory);
  EXPECT_EQ(set(every(minute, "c")), Word::Set) << "one that is there may be set";
  apply(Command(DeleteSchedule{"a"}));
  EXPECT_EQ(set(every(second, "d")), Word::Set);
  std::vector<std::string> names;
  for (auto seen = engine_->view().next_schedule(""); seen;
       seen = engine_->view().next_schedule(names.back())) {
    names.push_back(seen->stored->schedule->name);
  }
  EXPECT_THAT(names, ElementsAre("b", "c", "d"));
}

TEST_F(Schedules, AreNotSetWhereNoPutIsAccepted) {
  accepts_ = false;
  EXPECT_EQ(set(every(second)), Word::OutOfMemory);
  accepts_ = true;
  set(every(second));
  accepts_ = false;
  EXPECT_EQ(set(every(minute)), Word::OutOfMemory);
  EXPECT_EQ(next(), 1);
  apply(Command(PauseSchedule{"s"}));
  EXPECT_EQ(word(), Word::Paused);
  apply(Command(DeleteSchedule{"s"}));
  EXPECT_EQ(word(), Word::Deleted);
}

TEST_F(Schedules, AreUnknownWithoutACalendar) {
  engine_ = std::make_unique<Engine>(Limits{});
  folded_ = {};
  open();
  EXPECT_EQ(set(every(second)), Word::UnknownCommand);
  EXPECT_EQ(engine_->next_deadline(), std::nullopt);
  pass(minute);
}

// One that was stored by another server stays, and does nothing.
TEST_F(Schedules, DoNothingWithoutACalendar) {
  set(every(second));
  engine_ = std::make_unique<Engine>(Limits{});
  for (const auto& [name, stored] : folded_.schedules) {
    ASSERT_TRUE(engine_->restore_schedule(stored).ok());
  }
  output_.clear();
  ASSERT_TRUE(engine_->finish_restore(1, now_, output_).ok());
  open();
  pass(minute);
  EXPECT_THAT(planned(), IsEmpty());
  EXPECT_EQ(engine_->next_deadline(), std::nullopt);
  apply(Command(PauseSchedule{"s"}));
  EXPECT_EQ(word(), Word::NotFound);
}

TEST_F(Schedules, OfAZoneThatIsUnknownWaitForAStartThatKnowsIt) {
  knows_gone_ = true;
  restart();
  open();
  set(cron("minute", "Gone"));
  EXPECT_EQ(next(), 60);
  knows_gone_ = false;
  restart();
  apply(Tick{});
  EXPECT_EQ(progress().state, ScheduleState::Active) << "its next time was found before";
  pass(minute);
  EXPECT_EQ(progress().state, ScheduleState::NoZone);
  EXPECT_THAT(planned(), ElementsAre(60));
  EXPECT_EQ(engine_->next_deadline(), std::nullopt);
  restart();
  apply(Tick{});
  EXPECT_EQ(progress().state, ScheduleState::NoZone);
  pass(10 * minute + second);
  knows_gone_ = true;
  restart();
  EXPECT_LE(engine_->next_deadline(), now_);
  apply(Tick{});
  EXPECT_EQ(progress().state, ScheduleState::Active);
  EXPECT_EQ(next(), 12 * 60);
  EXPECT_EQ(progress().missed, 0u) << "what has passed is not missed";
  EXPECT_THAT(planned(), IsEmpty());
}

// tzdata is updated between two starts.
TEST_F(Schedules, ArePlannedAnewByAStartWithOtherTimeZones) {
  set(cron("minute"));
  set(every(minute, "e"));
  pass(minute + 10 * second);
  EXPECT_THAT(planned(), ElementsAre(60, 60));
  shift_ = 20;
  restart();
  EXPECT_LE(engine_->next_deadline(), now_);
  apply(Tick{});
  EXPECT_EQ(next(), 80) << "and not 120";
  EXPECT_EQ(next("e"), 120);
  pass(10 * second);
  EXPECT_THAT(planned(), ElementsAre(80));
  EXPECT_EQ(progress().missed, 0u);
  // One that has come by the old rules fires for the time that it had.
  wall_ += 70 * second;
  shift_ = 0;
  restart();
  apply(Tick{});
  EXPECT_THAT(planned(), ElementsAre(120, 140));
}

TEST_F(Schedules, OfAZoneThatIsUnknownGoOnWhenTheyAreSetAgain) {
  EXPECT_EQ(set(cron("minute", "Gone")), Word::Set);
  EXPECT_EQ(progress().state, ScheduleState::NoZone);
  set(cron("minute", "Gone"));
  EXPECT_EQ(progress().state, ScheduleState::NoZone);
  set(cron("minute"));
  EXPECT_EQ(next(), 60);
}

TEST_F(Schedules, OfOneTimeFireByNameAndGoOnInLaterTurns) {
  transitions_max_ = 3;
  restart();
  open();
  for (const std::string name : {"c", "a", "b"}) set(every(10 * second, name));
  pass(10 * second);
  EXPECT_EQ(planned().size(), 2u) << "the turn is over with the second one";
  EXPECT_EQ(progress("b").fired, 1u);
  EXPECT_EQ(progress("c").fired, 0u);
  EXPECT_EQ(engine_->next_deadline(), now_);
  apply(Tick{.go_on = false});
  EXPECT_THAT(planned(), IsEmpty());
  apply(Tick{});
  EXPECT_EQ(progress("c").fired, 1u);
}

// The times that have passed while the server was down are not made up for a second later, but at
// once.
TEST_F(Schedules, AreLookedAtBehindAStart) {
  set(every(10 * second));
  restart();
  EXPECT_EQ(engine_->next_deadline(), now_);
  apply(Tick{});
  EXPECT_EQ(engine_->next_deadline(), now_ + 10 * second);
}

// What a turn may cost decides when a job is put, and not which.
TEST_F(Schedules, FireTheSameInShortTurns) {
  const auto run = [this](uint32_t seed, uint32_t transitions_max, uint64_t cost_max) {
    transitions_max_ = transitions_max;
    cost_max_ = cost_max;
    engine_ = std::make_unique<Engine>(limits());
    folded_ = {};
    accepts_ = true;
    now_ = wall_ = start;
    open();
    // What is left for later turns.
    const auto finish = [this] {
      while (engine_->next_deadline().value_or(last_time) <= now_) apply(Tick{});
    };
    std::mt19937 random(seed);
    const auto below = [&random](uint32_t bound) { return static_cast<Nanos>(random() % bound); };
    for (int i = 0; i < 150; ++i) {
      const std::string name(1, static_cast<char>('a' + below(3)));
      Schedule schedule = below(2) == 0 ? cron("odd") : every((1 + below(20)) * second);
      schedule.name = name;
      schedule.missed_max = static_cast<uint32_t>(below(6));
      schedule.overlap = static_cast<ScheduleOverlap>(below(3));
      schedule.jitter = below(9) * second;
      const Nanos kind = below(10);
      if (kind < 2) set(schedule);
      if (kind == 2) apply(Command(PauseSchedule{name, No{below(2) != 0}}));
      if (kind == 3) wall_ += (below(400) - 200) * second;
      if (kind == 4) accepts_ = !accepts_;
      if (kind == 5) apply(Command{FlushTube{.tube = "t"}});
      finish();
      pass(below(40) * second);
      finish();
    }
    return std::pair(planned(), folded_.schedules);
  };
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    const auto usual = run(seed, 10'000, 500'000);
    EXPECT_FALSE(usual.first.empty());
    EXPECT_EQ(run(seed, 1, 500'000), usual) << seed;
    EXPECT_EQ(run(seed, 10'000, 1), usual) << seed;
  }
}

TEST_F(Schedules, ThatContradictThemselvesAreNotRestored) {
  set(every(10 * second));
  const ScheduleStored stored = folded_.schedules.at("s");
  Engine engine(limits());
  EXPECT_TRUE(engine.restore_schedule(stored).ok());
  EXPECT_EQ(engine.restore_schedule(stored).code(), StatusCode::Corruption);
  ScheduleStored other = stored;
  other.schedule->name = "o";
  other.progress.planned.reset();
  EXPECT_EQ(engine.restore_schedule(other).code(), StatusCode::Corruption);
  other = stored;
  other.schedule->name = "o";
  other.schedule->when = ScheduleEvery{second};
  EXPECT_EQ(engine.restore_schedule(other).code(), StatusCode::Corruption) << "it has no anchor";
  other.progress.state = ScheduleState::Over;
  EXPECT_EQ(engine.restore_schedule(other).code(), StatusCode::Corruption);
}

TEST_F(Schedules, AreCountedInTheMemory) {
  const size_t before = engine_->view().memory_bytes();
  set(every(second));
  EXPECT_GT(engine_->view().memory_bytes(), before + 200);
  apply(Command(DeleteSchedule{"s"}));
  EXPECT_EQ(engine_->view().memory_bytes(), before);
}

}  // namespace
}  // namespace perennial::engine
