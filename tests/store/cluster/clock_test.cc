#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "store/cluster/keys.h"
#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"
#include "tests/support/etcd_client_wrapper.h"
#include "tests/support/virtual_time.h"

// Whose clock counts when nodes start, and when one takes over from another.
namespace perennial::store::cluster {
namespace {

using support::VirtualTime;

class ClockTest : public NodeTest {
 protected:
  static constexpr Nanos day = 86'400 * second;
  Nanos right() const { return VirtualTime::epoch + time_.now(); }
  std::unique_ptr<SimulatedNode> start_with_clock(const std::string& name, SimulatedDisk& disk,
                                                  Nanos ahead) {
    std::unique_ptr<SimulatedNode> node = start(name, disk);
    node->process().set_wall_offset(ahead);
    return node;
  }
  // The first knows the time and stands still. The other has heard only what was told before the
  // leader stood still, which is dead now; it is about to lead.
  std::pair<std::unique_ptr<SimulatedNode>, std::unique_ptr<SimulatedNode>>
  start_one_that_heard_old_time() {
    const auto a = start_leader("a", disk_a_);
    auto b = start_with_clock("b", disk_b_, 10 * day);
    run_for(5 * second);
    a->process().pause();
    b->process().pause();
    run_for(7 * second);
    auto c = start_with_clock("c", disk_c_, 10 * day);
    run_for(second);
    a->kill();
    return {std::move(b), std::move(c)};
  }
  // Between what it may be late and what it may be early, in seconds.
  void expect_time(const SimulatedNode& node, double least, double most) {
    const double off = static_cast<double>(node.time() - right()) / second;
    EXPECT_GE(off, least);
    EXPECT_LE(off, most);
  }
};

// It took the leader for itself, heard no time, and believed its own clock.
TEST_F(ClockTest, GoesOnInACopyOfTheLeadersDirectoryUnderAnotherName) {
  NodeOptions original = options("a");
  original.boot = "one";
  const auto a = start(original, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  a->write_always(true);
  run_for(second);
  disk_b_ = disk_a_;
  NodeOptions copy = options("b");
  copy.boot = "another";
  const auto b = start(copy, disk_b_);
  b->process().set_wall_offset(10 * day);
  run_for(5 * second);
  EXPECT_TRUE(a->leads());
  a->kill();
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  expect_time(*b, -2, 1);
}

// A standby that was up for a month before it led made the time jump ahead by that month.
TEST_F(ClockTest, GoesOnAtATakeoverWhateverTheNextClockSays) {
  struct Row {
    Nanos ahead;  // Of the next leader's wall clock.
    double least, most;
  };
  for (const Row& row : {Row{0, -0.01, 0.01}, Row{10 * day, -1.5, 0.01}, Row{-10 * day, -1.5, 0.01},
                         Row{5 * second, 4.9, 5.01}, Row{-5 * second, -1.5, 0.01}}) {
    SimulatedDisk disk_a{.directory = "directory-a"};
    SimulatedDisk disk_b{.directory = "directory-b"};
    etcd_.replace();
    acknowledged_.clear();
    auto a = start_leader("a", disk_a);
    const auto b = start_with_clock("b", disk_b, row.ahead);
    run_for(10 * second);
    a->write_always(false);
    run_for(600 * second);
    a->kill();
    ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second)) << row.ahead / second;
    expect_time(*b, row.least, row.most);
    EXPECT_EQ(b->node().takeover_time().is_wall_off, std::abs(row.ahead) > 10 * second);
  }
}

// Nobody has heard the cluster's time. The one that has most of the log has a clock that is ahead.
TEST_F(ClockTest, OfOneThatIsAheadOfMostIsNotBelieved) {
  SimulatedDisk disk_c{.directory = "directory-c"};
  auto a = start_leader("a", disk_a_);
  auto b = start("b", disk_b_);
  auto c = start("c", disk_c);
  run_for(10 * second);
  b->kill();
  c->kill();
  run_for(second);
  a->kill();
  run_for(60 * second);
  disk_a_.flushed = disk_a_.last();
  a = start_with_clock("a", disk_a_, 10 * day);
  b = start("b", disk_b_);
  c = start("c", disk_c);
  ASSERT_TRUE(run_until([&] { return !a->clock().may_lead; }, 10 * second));
  EXPECT_NEAR(static_cast<double>(a->clock().ahead), static_cast<double>(10 * day),
              static_cast<double>(2 * second));
  ASSERT_TRUE(run_until([&] { return a->leads() || b->leads() || c->leads(); }, 60 * second));
  ASSERT_FALSE(a->leads());
  expect_time(b->leads() ? *b : *c, -0.01, 0.01);
  // Once it has heard the time, its clock is of no interest.
  run_for(5 * second);
  EXPECT_TRUE(a->clock().may_lead);
  b->kill();
  c->kill();
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 60 * second));
  expect_time(*a, -1.5, 0.01);
}

// It heard a record that was as old as the leader had stood still, and the cluster's time fell
// behind by that.
TEST_F(ClockTest, OfANewNodeIsWhatTheOthersKnow) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  a->process().pause();
  run_for(6 * second);
  NodeOptions first = options("c");
  first.priority = 90;
  const auto c = start(first, disk_c_);
  c->process().set_wall_offset(10 * day);
  run_for(3 * second);
  a->kill();
  ASSERT_TRUE(run_until([&] { return b->leads() || c->leads(); }, 30 * second));
  ASSERT_TRUE(c->leads());
  expect_time(*c, -2.5, 0.01);
}

// The same of one that lives, but was answered by etcd only after the new node: an outage of etcd
// was over, and the time fell behind by as long as that had taken.
TEST_F(ClockTest, OfANewNodeIsWhatTheOthersSayAfterAnOutage) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  a->write_always(false);
  b->process().pause();
  run_for(6 * second);
  a->process().post([&] { a->node().leave([] {}); });
  NodeOptions first = options("c");
  first.priority = 90;
  const auto c = start(first, disk_c_);
  run_for(3 * second);
  EXPECT_FALSE(c->leads());
  b->process().resume();
  ASSERT_TRUE(run_until([&] { return b->leads() || c->leads(); }, 30 * second));
  expect_time(b->leads() ? *b : *c, -2.5, 0.01);
}

// What it knew of the leader before the last one was more: everything that was asked for meanwhile
// ended too early.
TEST_F(ClockTest, DoesNotJumpBackToThatOfAnEarlierLeader) {
  const auto nodes = start_one_that_heard_old_time();
  const auto& b = nodes.first;
  const auto& c = nodes.second;
  ASSERT_TRUE(run_until([&] { return c->leads(); }, 30 * second));
  expect_time(*c, -10, -5);
  c->write_always(true);
  run_for(second);
  b->process().resume();
  run_for(5 * second);
  const double behind = static_cast<double>(c->time() - right()) / second;
  c->kill();
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  expect_time(*b, behind - 2, behind + 0.01);
}

// The same, and the leader that was behind has published nothing: it was killed within a second.
// What clients had asked it for is in its entries.
TEST_F(ClockTest, DoesNotJumpBackOverALeaderThatHasToldNothing) {
  const auto nodes = start_one_that_heard_old_time();
  const auto& b = nodes.first;
  const auto& c = nodes.second;
  c->write_always(true);
  ASSERT_TRUE(run_until([&] { return c->leads(); }, 30 * second));
  run_for(second / 50);
  const double behind = static_cast<double>(c->time() - right()) / second;
  ASSERT_LT(behind, -5);
  c->kill();
  b->process().resume();
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  // It was lost to the clients for as long as its lease was.
  expect_time(*b, behind - lease_s - 3, behind + 0.01);
}

// The same after a start of all nodes: the first leader's clock is behind. It was killed before it
// had told the time, and the next one believed its own clock.
TEST_F(ClockTest, DoesNotJumpToAWallClockOverALeaderThatHasToldNothing) {
  auto a = start_leader("a", disk_a_);
  auto b = start("b", disk_b_);
  run_for(5 * second);
  b->kill();
  a->kill();
  disk_a_.flushed = disk_a_.last();
  disk_b_.flushed = disk_b_.last();
  run_for(60 * second);
  NodeOptions first = options("a");
  first.priority = 90;
  a = start(first, disk_a_);
  a->process().set_wall_offset(-3600 * second);
  b = start("b", disk_b_);
  a->write_always(true);
  ASSERT_TRUE(run_until([&] { return a->leads() || b->leads(); }, 30 * second));
  ASSERT_TRUE(a->leads());
  run_for(second / 50);
  const double behind = static_cast<double>(a->time() - right()) / second;
  ASSERT_LT(behind, -3500);
  a->kill();
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  expect_time(*b, behind - lease_s - 3, behind + 0.01);
}

// A former process of it has told the time.
TEST_F(ClockTest, GoesOnAtTheLeadersOwnRestart) {
  auto a = start_leader("a", disk_a_);
  run_for(10 * second);
  a->kill();
  disk_a_.flushed = disk_a_.last();
  a = start_with_clock("a", disk_a_, 10 * day);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 5 * second));
  expect_time(*a, -1.5, 0.01);
}

// Nodes of a machine that reads slowly: they do not get on with the log for as long as they are
// held.
class SlowReader final : public support::EtcdClientWrapper {
 public:
  SlowReader(std::unique_ptr<etcd::Client> real, etcd::KeyRange log, const bool& is_held)
      : EtcdClientWrapper(std::move(real)), log_(std::move(log)), is_held_(is_held) {}
  void get(etcd::Get request, Nanos deadline, etcd::Done<etcd::Found> done) override {
    const bool is_of_log = request.range.key >= log_.key && request.range.key < log_.end;
    if (is_of_log && is_held_) return done(etcd::Failure{.message = "held"});
    EtcdClientWrapper::get(std::move(request), deadline, std::move(done));
  }

 private:
  const etcd::KeyRange log_;
  const bool& is_held_;
};

// All were stopped and are started together. `a` has the log at once, the others take long.
class ClockOfSlowReadersTest : public ClockTest {
 protected:
  void start_all(Nanos a_ahead, Nanos others_ahead) {
    {
      const auto a = start_leader("a", disk_a_);
      const auto b = start("b", disk_b_);
      const auto c = start("c", disk_c_);
      run_for(10 * second);
      a->write_always(false);
      run_for(second);
      for (const auto* node : {&b, &c, &a}) (*node)->kill();
    }
    for (SimulatedDisk* disk : {&disk_a_, &disk_b_, &disk_c_}) disk->flushed = disk->last();
    run_for(60 * second);
    a_ = start_with_clock("a", disk_a_, a_ahead);
    world_.wrap = [this](std::unique_ptr<etcd::Client> real) {
      return std::make_unique<SlowReader>(std::move(real), Keys("jobs").entries_from(0), is_held_);
    };
    b_ = start_with_clock("b", disk_b_, others_ahead);
    c_ = start_with_clock("c", disk_c_, others_ahead);
  }
  bool somebody_leads() const { return a_->leads() || b_->leads() || c_->leads(); }

  bool is_held_ = true;
  std::unique_ptr<SimulatedNode> a_, b_, c_;
};

// Its clock was an hour ahead, and it led, because nobody else had the log yet: 2,620 planned times
// of a schedule were left out.
TEST_F(ClockOfSlowReadersTest, OfOneThatIsAheadIsComparedWithThoseThatJoin) {
  start_all(3600 * second, 0);
  run_for(5 * second);
  EXPECT_EQ(b_->node().role(), Role::Joining);
  EXPECT_EQ(c_->node().role(), Role::Joining);
  EXPECT_FALSE(a_->clock().may_lead);
  EXPECT_FALSE(somebody_leads());
  is_held_ = false;
  ASSERT_TRUE(run_until([&] { return somebody_leads(); }, 30 * second));
  ASSERT_FALSE(a_->leads());
  expect_time(b_->leads() ? *b_ : *c_, -0.01, 0.01);
}

// Those that join may be unable to do so until somebody leads.
TEST_F(ClockOfSlowReadersTest, OfThoseThatJoinForLongIsOfNoInterest) {
  start_all(0, -3600 * second);
  run_for(2 * lease_s * second - second);
  EXPECT_FALSE(somebody_leads());
  ASSERT_TRUE(run_until([&] { return a_->leads(); }, 5 * second));
  expect_time(*a_, -0.01, 0.01);
}

}  // namespace
}  // namespace perennial::store::cluster
