// No input moves more jobs than a turn may. What is left is due at once, and in the end everything
// has happened.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

constexpr Nanos start = 1'700'000'000 * nanos_per_second;
constexpr uint32_t transitions_max = 3;
constexpr JobId jobs = 20;

class Turns : public testing::Test {
 protected:
  Turns() : engine_({.transitions_per_turn_max = transitions_max}) {
    open(1);
    open(2);
  }

  void open(ConnId conn) { apply(conn, Opened{}); }
  void put_jobs(uint32_t delay_s = 0) {
    for (JobId i = 0; i < jobs; ++i) apply(1, Command{Put{0, delay_s, 60, 1}});
  }
  void reserve_jobs(ConnId conn) {
    for (JobId i = 0; i < jobs; ++i) apply(conn, Command{Reserve{}});
  }

  // Reserves a ready job and releases it with a delay, as a worker does that cannot process it yet.
  void delay_again(JobId id, uint32_t delay_s) {
    constexpr ConnId worker = 99;
    open(worker);
    apply(worker, Command{ReserveJob{id}});
    apply(worker, Command{Release{id, 0, delay_s}});
    apply(worker, Closed{});
  }
  static uint64_t count_of(const Reply& reply) {
    const auto& kicked = std::get<NumberReply>(reply);
    EXPECT_EQ(kicked.word, Word::KickedCount);
    return kicked.number;
  }
  uint64_t kicked() const { return count_of(last_reply_); }
  uint64_t kicked_now() const { return count_of(output_.replies.at(0).reply); }
  JobId peeked() const { return std::get<JobReply>(output_.replies.at(0).reply).id; }

  // Applies one input in a turn of its own. Returns how many transitions of jobs it caused.
  size_t apply(ConnId conn, Event event) {
    ++now_;
    return apply_in_turn(conn, std::move(event));
  }

  size_t apply_in_turn(ConnId conn, Event event) {
    output_.clear();
    engine_.apply({.now = now_, .conn = conn, .event = std::move(event)}, output_);
    engine_.check();
    size_t transitions = 0;
    for (const Transition& transition : output_.transitions) {
      transitions += std::holds_alternative<JobMoved>(transition);
    }
    return transitions;
  }

  // Ticks until nothing is due, and checks the length of each turn. Returns the transitions of all
  // turns.
  size_t tick_until_done() {
    size_t transitions = 0;
    while (engine_.next_deadline() && *engine_.next_deadline() <= now_) {
      const size_t turn = apply(0, Tick{});
      // A job that becomes ready and is reserved at once counts twice.
      EXPECT_LE(turn, transitions_max + 1);
      transitions += turn;
      if (!output_.replies.empty()) last_reply_ = std::move(output_.replies.back().reply);
    }
    return transitions;
  }

  Engine engine_;
  Nanos now_ = start;
  Output output_;
  Reply last_reply_ = Word::NotFound;
};

TEST_F(Turns, DelaysEndOverSeveralTurns) {
  put_jobs(5);
  now_ += 5 * nanos_per_second;
  EXPECT_EQ(tick_until_done(), jobs);
  EXPECT_EQ(engine_.view().state_counts().ready, jobs);
}

TEST_F(Turns, ReservationsTimeOutOverSeveralTurns) {
  put_jobs();
  reserve_jobs(2);
  now_ += 60 * nanos_per_second;
  EXPECT_EQ(tick_until_done(), jobs);
  EXPECT_EQ(engine_.view().state_counts().ready, jobs);
}

TEST_F(Turns, AClosedConnectionGivesItsJobsBackOverSeveralTurns) {
  put_jobs();
  reserve_jobs(2);
  const size_t first = apply(2, Closed{});
  EXPECT_EQ(first, transitions_max);
  EXPECT_EQ(first + tick_until_done(), jobs);
  EXPECT_EQ(engine_.view().state_counts().ready, jobs);
}

TEST_F(Turns, AKickAnswersWhenItIsDone) {
  put_jobs(100);
  const size_t first = apply(1, Command{Kick{UINT32_MAX}});
  EXPECT_EQ(first, transitions_max);
  EXPECT_TRUE(output_.replies.empty());
  EXPECT_EQ(first + tick_until_done(), jobs);
  ASSERT_TRUE(std::holds_alternative<NumberReply>(last_reply_));
  EXPECT_EQ(kicked(), jobs);
}

TEST_F(Turns, AKickEndsWithItsConnection) {
  put_jobs(100);
  apply(1, Command{Kick{UINT32_MAX}});
  apply(1, Closed{});
  tick_until_done();
  EXPECT_EQ(engine_.view().state_counts().ready, transitions_max);
  EXPECT_EQ(engine_.view().state_counts().delayed, jobs - transitions_max);
}

TEST_F(Turns, AKickDoesNotKickAJobThatWasBuriedAgain) {
  put_jobs();
  reserve_jobs(2);
  for (JobId id = 1; id <= jobs; ++id) apply(2, Command{Bury{id, 0}});
  EXPECT_EQ(apply(1, Command{Kick{UINT32_MAX}}), transitions_max);
  apply(2, Command{ReserveJob{1}});
  apply(2, Command{Bury{1, 0}});
  tick_until_done();
  ASSERT_TRUE(std::holds_alternative<NumberReply>(last_reply_));
  EXPECT_EQ(kicked(), jobs);
  EXPECT_EQ(engine_.view().state_counts().buried, 1U);
  EXPECT_EQ(engine_.view().state_counts().ready, jobs - 1);
}

// A worker that reserves a kicked job and releases it with a delay, while the kick continues,
// expects that delay.
TEST_F(Turns, AKickDoesNotKickAJobThatWasDelayedAgain) {
  put_jobs(100);
  EXPECT_EQ(apply(1, Command{Kick{UINT32_MAX}}), transitions_max);
  delay_again(1, 5);
  delay_again(2, 200);
  tick_until_done();
  EXPECT_EQ(kicked(), jobs);
  EXPECT_EQ(engine_.view().state_counts().delayed, 2U);
  EXPECT_EQ(engine_.view().state_counts().ready, jobs - 2);
  for (const JobId id : {1, 2}) {
    apply(1, Command{PeekDelayed{}});
    EXPECT_EQ(peeked(), id);
    apply(1, Command{Delete{id}});
  }
}

TEST_F(Turns, AKickOfSomeDelayedJobsKicksTheSoonestOfThoseBeforeIt) {
  put_jobs(100);
  apply(1, Command{Kick{jobs / 2}});
  delay_again(1, 5);
  apply(1, Command{PeekDelayed{}});
  EXPECT_EQ(peeked(), 1U);  // During the kick: the soonest of all jobs.
  tick_until_done();
  EXPECT_EQ(kicked(), jobs / 2);
  EXPECT_EQ(engine_.view().state_counts().delayed, jobs / 2 + 1);
  apply(1, Command{PeekDelayed{}});
  EXPECT_EQ(peeked(), 1U);
  now_ += 5 * nanos_per_second;
  EXPECT_EQ(tick_until_done(), 1U);
  apply(1, Command{PeekDelayed{}});
  EXPECT_EQ(peeked(), jobs / 2 + 1);
}

TEST_F(Turns, TwoKicksOfDelayedJobsRunOneAfterTheOther) {
  put_jobs(100);
  apply(1, Command{Kick{jobs / 2}});
  EXPECT_EQ(apply(2, Command{Kick{UINT32_MAX}}), 0U);
  EXPECT_TRUE(output_.replies.empty());
  open(3);
  EXPECT_EQ(apply(3, Command{Kick{1}}), 1U);  // A kick of a single turn need not wait.
  EXPECT_EQ(kicked_now(), 1U);
  std::vector<uint64_t> counts;
  while (engine_.next_deadline() && *engine_.next_deadline() <= now_) {
    EXPECT_LE(apply(0, Tick{}), transitions_max);
    if (!output_.replies.empty()) counts.push_back(kicked_now());
  }
  EXPECT_EQ(counts, (std::vector<uint64_t>{jobs / 2, jobs / 2 - 1}));
  EXPECT_EQ(engine_.view().state_counts().ready, jobs);
}

// A kick decides which jobs it kicks when it begins, not when it was sent.
TEST_F(Turns, AKickThatWaitedForAnotherKicksBuriedJobsFirst) {
  put_jobs(100);
  apply(1, Command{Kick{UINT32_MAX}});
  apply(2, Command{Kick{UINT32_MAX}});
  open(3);
  apply(3, Command{ReserveJob{jobs}});
  apply(3, Command{Bury{jobs, 0}});
  delay_again(1, 5);
  tick_until_done();
  EXPECT_EQ(kicked(), 1U);
  EXPECT_EQ(engine_.view().state_counts().buried, 0U);
  EXPECT_EQ(engine_.view().state_counts().delayed, 1U);
}

TEST_F(Turns, AKickOfDelayedJobsThatEndsWithItsConnectionLetsOthersKickThem) {
  put_jobs(100);
  apply(1, Command{Kick{UINT32_MAX}});
  for (JobId id = 1; id <= transitions_max; ++id) delay_again(id, 5);
  apply(2, Command{Kick{UINT32_MAX}});
  apply(1, Closed{});
  EXPECT_EQ(tick_until_done(), jobs);
  EXPECT_EQ(kicked(), jobs);
  EXPECT_EQ(engine_.view().state_counts().ready, jobs);
}

// A turn moves at most transitions_max jobs, for any number of kicks.
TEST_F(Turns, AllKicksOfATurnShareItsBound) {
  put_jobs(100);
  EXPECT_EQ(apply(1, Command{Kick{2}}), 2U);
  EXPECT_EQ(kicked_now(), 2U);
  EXPECT_EQ(apply_in_turn(1, Command{Kick{2}}), 1U);
  EXPECT_TRUE(output_.replies.empty());
  EXPECT_EQ(apply_in_turn(2, Command{Kick{2}}), 0U);
  EXPECT_TRUE(output_.replies.empty());
  EXPECT_EQ(apply_in_turn(0, Tick{}), transitions_max);
  EXPECT_EQ(output_.replies.size(), 2U);
  EXPECT_EQ(engine_.view().state_counts().ready, 2U + 2U + 2U);
}

TEST_F(Turns, AKickWithinATurnAnswersAtOnce) {
  put_jobs(100);
  apply(1, Command{Kick{transitions_max}});
  ASSERT_EQ(output_.replies.size(), 1u);
  EXPECT_EQ(count_of(output_.replies[0].reply), transitions_max);
}

TEST_F(Turns, APauseEndsOverSeveralTurnsAndServesEveryWaitingConnection) {
  apply(1, Command{PauseTube{"default", 5}});
  put_jobs();
  for (ConnId conn = 10; conn < 10 + jobs; ++conn) {
    open(conn);
    apply(conn, Command{Reserve{}});
  }
  now_ += 5 * nanos_per_second;
  EXPECT_EQ(tick_until_done(), jobs);
  EXPECT_EQ(engine_.view().state_counts().reserved, jobs);
}

TEST_F(Turns, ARestartMakesReservedJobsReadyOverSeveralTurns) {
  put_jobs();
  reserve_jobs(2);
  const Image image = engine_.image();
  Engine restarted({.transitions_per_turn_max = transitions_max});
  for (const auto& [id, name] : image.tubes) ASSERT_TRUE(restarted.restore_tube(id, name).ok());
  for (const auto& [id, row] : image.jobs) ASSERT_TRUE(restarted.restore_job(row, now_).ok());
  ASSERT_TRUE(restarted.finish_restore(image.id_limit, now_, output_).ok());
  EXPECT_EQ(restarted.view().state_counts().reserved, jobs);
  int turns = 0;
  for (; restarted.next_deadline() && *restarted.next_deadline() <= now_; ++turns) {
    restarted.apply({.now = now_, .event = Tick{}}, output_);
    restarted.check();
  }
  EXPECT_EQ(restarted.view().state_counts().ready, jobs);
  EXPECT_EQ(turns, static_cast<int>((jobs + transitions_max - 1) / transitions_max));
}

}  // namespace
}  // namespace perennial::engine
