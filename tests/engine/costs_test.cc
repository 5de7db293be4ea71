// The cost of inputs. An input that would cost more than a turn continues in later turns. In the
// end the state is the same as if everything had been done at once.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/tables/cost.h"

namespace perennial::engine {
namespace {

constexpr Nanos start = 1'700'000'000 * nanos_per_second;
constexpr ConnId client = 1;
constexpr ConnId other = 2;
constexpr size_t tubes = 20;

std::string name(size_t i) {
  return "tube" + std::to_string(i);
}

class Costs : public testing::Test {
 protected:
  explicit Costs(const Limits& limits = {}) : engine_(limits) {
    apply(client, Opened{});
    apply(other, Opened{});
  }

  // Applies an input in a turn of its own. Returns its cost.
  uint64_t apply(ConnId conn, Event event) {
    ++now_;
    return apply_in_turn(conn, std::move(event));
  }
  uint64_t apply_in_turn(ConnId conn, Event event) {
    output_.clear();
    engine_.apply({.now = now_, .conn = conn, .event = std::move(event)}, output_);
    engine_.check();
    return output_.cost;
  }
  void watch(ConnId conn, size_t count) {
    for (size_t i = 0; i < count; ++i) apply(conn, Command{Watch{name(i)}});
  }
  bool is_due() const { return engine_.next_deadline(false) == now_; }
  // Ticks until nothing is due, without operations that must wait for the disk. Keeps all parts of
  // listings. Returns the number of turns.
  int tick_until_done() {
    int turns = 0;
    for (; is_due(); ++turns) {
      apply_in_turn(0, Tick{.go_on = false});
      for (NamesPart& part : output_.names_parts) parts_.push_back(std::move(part));
    }
    return turns;
  }
  std::vector<std::string> listed() {
    std::vector<std::string> names;
    for (const NamesPart& part : parts_) {
      EXPECT_EQ(part.is_first, &part == &parts_.front());
      EXPECT_EQ(part.is_last, &part == &parts_.back());
      names.insert(names.end(), part.names.names.begin(), part.names.names.end());
    }
    parts_.clear();
    return names;
  }
  size_t tube_count() const { return engine_.view().tubes_size().count; }
  bool exists(const std::string& tube) {
    apply_in_turn(other, Command{StatsTube{tube}});
    return !std::holds_alternative<Word>(output_.replies.at(0).reply);
  }

  Engine engine_;
  Nanos now_ = start;
  Output output_;
  std::vector<NamesPart> parts_;
};

TEST_F(Costs, ReserveCostGrowsWithTheNumberOfWatchedTubes) {
  const uint64_t of_one = apply(client, Command{ReserveWithTimeout{0}});
  watch(client, tubes);
  const uint64_t of_all = apply(client, Command{ReserveWithTimeout{0}});
  EXPECT_EQ(of_all - of_one, tubes * cost::tube_checked);
  // A reserve that waits joins the lists of all watched tubes, and leaves them at the end.
  EXPECT_EQ(apply(client, Command{Reserve{}}), of_all + (tubes + 1) * cost::tube_waited_on);
  EXPECT_GE(apply(client, HalfClosed{}), (tubes + 1) * cost::tube_waited_on);
  // The cost for another connection does not grow.
  EXPECT_EQ(apply(other, Command{ReserveWithTimeout{0}}), of_one);
}

TEST_F(Costs, TransitionsAndListingsAreCounted) {
  EXPECT_EQ(apply(client, Command{Put{0, 0, 60, 1}}), cost::job_moved);
  EXPECT_EQ(apply(client, Command{Watch{"default"}}), 0u);
  EXPECT_EQ(apply(client, Command{ListTubes{}}), cost::name_listed);
  EXPECT_GE(apply(client, Command{Kick{1}}) + apply(client, Closed{}), cost::tube_left);
}

TEST_F(Costs, WatchCostDoesNotGrowWithTheNumberOfWatchedTubes) {
  watch(client, 100);
  EXPECT_EQ(apply(client, Command{Watch{name(99)}}), 0u);
  EXPECT_EQ(std::get<NumberReply>(output_.replies.at(0).reply), (NumberReply{Word::Watching, 101}));
}

// With these limits each turn does one thing.
class SmallCosts : public Costs {
 protected:
  SmallCosts() : Costs({.cost_per_turn_max = 1, .names_per_part_max = 3}) {}
};

TEST_F(SmallCosts, AClosedConnectionLeavesItsTubesOverSeveralTurns) {
  watch(client, tubes);
  apply(client, Command{Use{"used"}});
  EXPECT_EQ(tube_count(), tubes + 2);
  apply(client, Closed{});
  EXPECT_EQ(tube_count(), tubes + 2);  // It has left only the tube default.
  apply_in_turn(0, Tick{});
  EXPECT_EQ(tube_count(), tubes + 1);
  EXPECT_GE(tick_until_done(), static_cast<int>(tubes));
  EXPECT_EQ(tube_count(), 1u);
}

// As beanstalkd does, a connection leaves the first tube, and then the others from the last.
TEST_F(SmallCosts, AClosedConnectionLeavesItsTubesInBeanstalkdsOrder) {
  watch(client, 4);
  apply(client, Command{Ignore{"default"}});  // The last tube takes its place.
  apply(client, Closed{});
  for (const size_t ended : {3, 2, 1, 0}) {
    EXPECT_FALSE(exists(name(ended))) << ended;
    EXPECT_EQ(exists(name(ended - 1)), ended > 0) << ended;
    apply_in_turn(0, Tick{});
  }
}

TEST_F(SmallCosts, AClosedConnectionGetsNoJobWhileItLeavesItsTubes) {
  watch(client, tubes);
  apply(client, Command{Reserve{}});
  apply(client, Closed{});
  ASSERT_TRUE(is_due());
  apply(other, Command{Use{name(tubes - 1)}});
  apply_in_turn(other, Command{Put{0, 0, 60, 1}});
  EXPECT_EQ(output_.replies.size(), 1u);
  EXPECT_EQ(engine_.view().state_counts().ready, 1u);
  tick_until_done();
  EXPECT_EQ(tube_count(), 2u);
}

TEST_F(SmallCosts, AConnectionThatClosesDuringItsKickGivesItsJobsBack) {
  watch(client, tubes);
  for (int i = 0; i < 5; ++i) apply(client, Command{Put{0, 0, 60, 1}});
  for (int i = 0; i < 5; ++i) apply(client, Command{Reserve{}});
  for (int i = 0; i < 2; ++i) apply(client, Command{Put{0, 100, 60, 1}});
  apply(other, Command{Reserve{}});
  apply(3, Opened{});
  apply(3, Command{Reserve{}});
  apply(client, Command{Kick{2}});
  ASSERT_EQ(output_.replies.size(), 1u);  // Only that of the connection that has waited longest.
  EXPECT_EQ(output_.replies[0].conn, other);
  apply(client, Closed{});
  while (engine_.next_deadline() && *engine_.next_deadline() <= now_) apply_in_turn(0, Tick{});
  EXPECT_EQ(engine_.view().state_counts().delayed, 1u);
  EXPECT_EQ(engine_.view().state_counts().reserved, 2u);
  EXPECT_EQ(engine_.view().state_counts().ready, 4u);
  EXPECT_EQ(tube_count(), 1u);
}

TEST_F(SmallCosts, WaitsWithTheSameEndAreAnsweredOverSeveralTurns) {
  constexpr ConnId first = 10;
  constexpr ConnId last = 20;
  for (ConnId conn = first; conn < last; ++conn) {
    apply(conn, Opened{});
    apply(conn, Command{ReserveWithTimeout{1}});
  }
  now_ += nanos_per_second;
  size_t answers = 0;
  for (ConnId conn = first; conn < last; ++conn) {
    apply_in_turn(0, Tick{});
    EXPECT_EQ(output_.replies.size(), 1u);
    answers += output_.replies.size();
  }
  EXPECT_EQ(answers, last - first);
  EXPECT_FALSE(is_due());
}

// The kick must not meet a job that is delayed while it continues, so the tube's delayed jobs are
// split where it stops.
TEST_F(SmallCosts, AKickThatServesWaitingConnectionsTakesSeveralTurns) {
  constexpr ConnId first = 10;
  constexpr uint32_t jobs = 5;
  for (uint32_t i = 0; i < jobs; ++i) apply(client, Command{Put{0, 100, 60, 1}});
  for (ConnId conn = first; conn < first + jobs; ++conn) {
    apply(conn, Opened{});
    apply(conn, Command{Reserve{}});
  }
  apply(client, Command{Kick{jobs}});
  ASSERT_EQ(output_.replies.size(), 1u);
  EXPECT_EQ(output_.replies[0].conn, first);
  const JobId served = std::get<JobReply>(output_.replies[0].reply).id;
  apply(first, Command{Release{served, 0, 5}});
  uint64_t kicked = 0;
  while (engine_.next_deadline() && *engine_.next_deadline() <= now_) {
    apply_in_turn(0, Tick{});
    for (const ConnReply& reply : output_.replies) {
      if (reply.conn == client) kicked = std::get<NumberReply>(reply.reply).number;
    }
  }
  EXPECT_EQ(kicked, jobs);
  EXPECT_EQ(engine_.view().state_counts().delayed, 1u);
  EXPECT_EQ(engine_.view().state_counts().reserved, jobs - 1);
}

TEST_F(SmallCosts, AListOfAtMostOnePartIsAnsweredAtOnce) {
  watch(client, 2);
  apply(client, Command{ListTubes{}});
  ASSERT_EQ(output_.replies.size(), 1u);
  apply(client, Command{ListTubesWatched{}});
  ASSERT_EQ(output_.replies.size(), 1u);
  EXPECT_FALSE(is_due());
}

TEST_F(SmallCosts, AListOfMoreThanOnePartComesInParts) {
  watch(client, 3);
  const std::vector<std::string> wanted = {"default", name(0), name(1), name(2)};
  for (const Command& list : {Command{ListTubes{}}, Command{ListTubesWatched{}}}) {
    apply(client, list);
    EXPECT_TRUE(output_.replies.empty());
    EXPECT_EQ(tick_until_done(), 2);
    ASSERT_EQ(parts_.size(), 2u);
    EXPECT_EQ(parts_[0].conns, (std::vector<ConnId>{client}));
    EXPECT_EQ(parts_[0].size.count, 4u);
    EXPECT_EQ(parts_[0].size.bytes, 7u + 3 * 5);
    EXPECT_EQ(listed(), wanted);
  }
}

TEST_F(SmallCosts, AListNamesTheTubesThatWereThereWhenItBegan) {
  watch(client, tubes);
  apply(other, Command{ListTubes{}});
  apply_in_turn(0, Tick{});
  parts_ = std::move(output_.names_parts);
  ASSERT_EQ(parts_.size(), 1u);
  for (size_t i = 0; i < tubes; ++i) apply(client, Command{Ignore{name(i)}});
  apply(client, Command{Watch{"new"}});
  EXPECT_EQ(tube_count(), 2u);
  tick_until_done();
  std::vector<std::string> wanted = {"default"};
  for (size_t i = 0; i < tubes; ++i) wanted.push_back(name(i));
  EXPECT_EQ(listed(), wanted);
}

TEST_F(SmallCosts, ConnectionsThatAskForAllTubesBeforeAListBeginsShareIt) {
  watch(client, tubes);
  apply(client, Command{ListTubes{}});
  apply(other, Command{ListTubes{}});
  apply_in_turn(0, Tick{});
  ASSERT_EQ(output_.names_parts.size(), 1u);
  EXPECT_EQ(output_.names_parts[0].conns, (std::vector<ConnId>{client, other}));
  // A connection that asks later gets another list, and so does one that asks for its watched
  // tubes.
  apply(3, Opened{});
  apply(3, Command{Watch{"late"}});
  apply(3, Command{ListTubes{}});
  apply(4, Opened{});
  for (size_t i = 0; i < 4; ++i) apply(4, Command{Watch{name(i)}});
  apply(4, Command{ListTubesWatched{}});
  tick_until_done();
  size_t late = 0;
  for (const NamesPart& part : parts_) {
    if (part.conns == std::vector<ConnId>{3}) late += part.names.names.size();
    if (part.conns == std::vector<ConnId>{4}) {
      EXPECT_EQ(part.size.count, 5u);
    }
  }
  EXPECT_EQ(late, tubes + 2);
}

TEST_F(SmallCosts, AListContinuesWithoutAConnectionThatHasClosed) {
  watch(client, tubes);
  apply(3, Opened{});
  apply(3, Command{ListTubes{}});
  apply(other, Command{ListTubes{}});
  apply_in_turn(0, Tick{});
  apply(3, Closed{});
  tick_until_done();
  ASSERT_FALSE(parts_.empty());
  for (const NamesPart& part : parts_) EXPECT_EQ(part.conns, (std::vector<ConnId>{other}));
  EXPECT_TRUE(parts_.back().is_last);
  parts_.clear();
  // All connections close: one while its list is made, one before its list begins.
  apply(other, Command{ListTubes{}});
  apply(client, Command{ListTubesWatched{}});
  apply_in_turn(0, Tick{});
  apply(other, Closed{});
  apply(client, Closed{});
  tick_until_done();
  EXPECT_TRUE(parts_.empty());
  EXPECT_EQ(tube_count(), 1u);
}

}  // namespace
}  // namespace perennial::engine
