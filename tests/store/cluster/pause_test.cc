#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"

// Takeovers that are paused: no other node than the leader of that moment leads.
namespace perennial::store::cluster {
namespace {

using testing::IsEmpty;

class PausedTakeovers : public NodeTest {
 protected:
  // As `perennial cluster pause` does, while node a leads.
  void pause(int64_t for_s) {
    const PauseRecord record = {.node = "a", .directory = disk_a_.directory};
    put_for(Keys("jobs").pause(), encode(record), for_s);
  }
};

TEST_F(PausedTakeovers, NobodyElseLeadsUntilTheyAreOver) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(3 * second);
  pause(60);
  run_for(3 * second);
  a->kill();
  learn_of_the_end(*b, 1);
  run_for(50 * second);
  EXPECT_FALSE(b->leads());
  EXPECT_EQ(b->abstention(), Election::Abstention::Paused);
  EXPECT_LT(time_until([&] { return b->leads(); }), 15 * second);
  expect_all(disk_b_);
}

// Also where the standby was not told of it before the leader ended.
TEST_F(PausedTakeovers, CountAlsoWhereTheNodeHasNotSeenThem) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(6 * second);
  pause(60);
  ASSERT_TRUE(run_until([&] { return has_key(Keys("jobs").pause()); }, second));
  a->kill();
  learn_of_the_end(*b, 1);
  run_for(30 * second);
  EXPECT_FALSE(b->leads());
}

TEST_F(PausedTakeovers, TheLeaderThatIsAskedItselfStays) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(3 * second);
  pause(60);
  run_for(3 * second);
  a->process().post([&a] { a->node().ask_handover(); });
  run_for(3 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
}

TEST_F(PausedTakeovers, TheLeaderLeadsAgainWhenItIsStartedAgain) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(3 * second);
  pause(600);
  run_for(3 * second);
  a->kill();
  run_for(3 * second);
  const auto at_once = start("a", disk_a_);
  EXPECT_LT(time_until([&] { return at_once->leads(); }), 3 * second);
  at_once->kill();
  run_for(2 * lease_s * second);
  EXPECT_FALSE(b->leads());
  const auto late = start("a", disk_a_);
  EXPECT_LT(time_until([&] { return late->leads(); }), 3 * second);
}

// As it does when it is stopped: it resigns. Its directory alone may lead.
TEST_F(PausedTakeovers, ALeaderThatIsStoppedLeadsAgain) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  a->write_always(false);
  run_for(3 * second);
  pause(600);
  run_for(2 * second);
  bool left = false;
  a->process().post([&] { a->node().leave([&] { left = true; }); });
  ASSERT_TRUE(run_until([&] { return left; }, second));
  a->kill();
  run_for(10 * second);
  EXPECT_FALSE(b->leads());
  const auto again = start("a", disk_a_);
  EXPECT_LT(time_until([&] { return again->leads(); }), 3 * second);
}

// A directory that was lost is another one, although the node has the same name.
TEST_F(PausedTakeovers, AnotherDirectoryOfTheSameNameDoesNotLead) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(3 * second);
  pause(600);
  run_for(2 * second);
  a->kill();
  const auto other = start("a", disk_c_);
  run_for(60 * second);
  EXPECT_FALSE(other->leads());
  EXPECT_FALSE(b->leads());
  remove(Keys("jobs").pause());
  EXPECT_TRUE(run_until([&] { return other->leads() || b->leads(); }, 5 * second));
}

TEST_F(PausedTakeovers, TheLeaderDoesNotHandOver) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  pause(60);
  run_for(2 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = a->epoch(), .to = {}}));
  put_for(Keys("jobs").resignation("a"), "a", 3600);
  set_space(*a, false);
  run_for(50 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
  EXPECT_EQ(a->declined(), "takeovers are paused");
  EXPECT_FALSE(has_key(Keys("jobs").handover()));
  // What lasts longer is done when they are over.
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 20 * second));
}

// What a newer version has written cannot be read. Then nobody is elected.
TEST_F(PausedTakeovers, CountAlsoWhereTheirTextCannotBeRead) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(3 * second);
  put_for(Keys("jobs").pause(), "?", 60);
  run_for(3 * second);
  a->kill();
  run_for(40 * second);
  EXPECT_FALSE(b->leads());
}

}  // namespace
}  // namespace perennial::store::cluster
