#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/cluster/timing.h"
#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"

// Who leads where nodes have different priorities.
namespace perennial::store::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PriorityOfNodes : public NodeTest {
 protected:
  std::unique_ptr<SimulatedNode> start_with(const std::string& name, SimulatedDisk& disk,
                                            uint32_t priority) {
    NodeOptions made = options(name);
    made.priority = priority;
    return start(made, disk);
  }

  SimulatedDisk disk_d_{.directory = "directory-d"};
};

// It holds as much as b, and has the later name.
TEST_F(PriorityOfNodes, TheHigherOneLeadsNext) {
  auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 50);
  const auto c = start_with("c", disk_c_, 51);
  a->write_always(false);
  run_for(5 * second);
  a->kill();
  ASSERT_TRUE(run_until([&] { return b->leads() || c->leads(); }, 2 * lease_s * second));
  EXPECT_TRUE(c->leads());
}

// Both learn in the same moment that the leader's process has ended.
TEST_F(PriorityOfNodes, TheHigherOneTakesOver) {
  auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 50);
  const auto c = start_with("c", disk_c_, 51);
  run_for(6 * second);
  a->kill();
  learn_of_the_end(*b, 1);
  learn_of_the_end(*c, 1);
  EXPECT_LT(time_until([&] { return b->leads() || c->leads(); }), place_delay);
  EXPECT_TRUE(c->leads());
}

// Its machine hangs. Somebody must lead.
TEST_F(PriorityOfNodes, TheLowerOneTakesOverWhereTheOtherDoesNotStand) {
  auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 50);
  const auto c = start_with("c", disk_c_, 100);
  run_for(6 * second);
  c->process().pause();
  a->kill();
  learn_of_the_end(*b, 1);
  EXPECT_LT(time_until([&] { return b->leads(); }), second);
  expect_all(disk_b_);
}

// Jobs that are refused harm more than a leader on the second-best machine.
TEST_F(PriorityOfNodes, SpaceOnTheDiskCountsFirst) {
  auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 100);
  const auto c = start_with("c", disk_c_, 1);
  set_space(*b, false);
  run_for(6 * second);
  a->kill();
  learn_of_the_end(*b, 1);
  learn_of_the_end(*c, 1);
  ASSERT_TRUE(run_until([&] { return b->leads() || c->leads(); }, 2 * lease_s * second));
  EXPECT_TRUE(c->leads());
}

// The lead moves only when somebody asks for it or the leader ends: each move ends connections.
TEST_F(PriorityOfNodes, AHigherOneThatComesBackDoesNotTakeTheLead) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 100);
  run_for(60 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
}

TEST_F(PriorityOfNodes, AHandoverToAnyGoesToTheHigherOne) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 50);
  const auto c = start_with("c", disk_c_, 60);
  a->write_always(false);
  run_for(5 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = a->epoch(), .to = {}}));
  EXPECT_LT(time_until([&] { return b->leads() || c->leads(); }), 2 * second);
  EXPECT_TRUE(c->leads());
}

TEST_F(PriorityOfNodes, ALeaderWithoutSpaceHandsOverToTheHigherOne) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 50);
  const auto c = start_with("c", disk_c_, 60);
  const auto d = start_with("d", disk_d_, 0);
  run_for(5 * second);
  set_space(*a, false);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 5 * second));
  EXPECT_THAT(a->handovers(), ElementsAre("c"));
}

// 0: a node that never leads.
TEST_F(PriorityOfNodes, ANodeWithZeroDoesNotStand) {
  auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 0);
  run_for(6 * second);
  a->kill();
  learn_of_the_end(*b, 1);
  run_for(5 * 60 * second);
  EXPECT_FALSE(b->leads());
  EXPECT_FALSE(b->has_ended());
  expect_all(disk_b_);
  const auto again = start("a", disk_a_);
  EXPECT_LT(time_until([&] { return again->leads(); }), 2 * second);
}

// Otherwise b would wait until the place of the other one is over.
TEST_F(PriorityOfNodes, ANodeWithZeroHasNoPlaceInFrontOfOthers) {
  auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 1);
  run_for(5 * second);
  set_space(*b, false);
  const auto c = start_with("c", disk_c_, 0);
  run_for(5 * second);
  a->kill();
  learn_of_the_end(*b, 1);
  EXPECT_LT(time_until([&] { return b->leads(); }), second);
}

// The key names its directory, as its former process led.
TEST_F(PriorityOfNodes, ALeaderThatStartsAgainWithZeroDoesNotLead) {
  auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 50);
  run_for(5 * second);
  a->kill();
  const auto again = start_with("a", disk_a_, 0);
  ASSERT_TRUE(run_until([&] { return again->leads() || b->leads(); }, 2 * lease_s * second));
  EXPECT_TRUE(b->leads());
}

TEST_F(PriorityOfNodes, ANodeWithZeroIsNoTargetOfAHandover) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start_with("b", disk_b_, 0);
  run_for(5 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = a->epoch(), .to = "b"}));
  set_space(*a, false);
  run_for(60 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
  EXPECT_THAT(a->declined(), HasSubstr("b never leads"));
  EXPECT_FALSE(has_key(Keys("jobs").handover()));
}

// It holds the log as any other: entries leave etcd when it has flushed them.
TEST_F(PriorityOfNodes, ANodeWithZeroCountsAsACopy) {
  NodeOptions made = options("a");
  made.trim = {.copies_min = 2, .keep_bytes = 1000, .bytes_max = 1 << 30};
  const auto a = start(made, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  a->write_always(true);
  run_for(5 * second);
  EXPECT_TRUE(has_key(Keys("jobs").entry(1)));
  const auto b = start_with("b", disk_b_, 0);
  run_for(5 * second);
  EXPECT_FALSE(has_key(Keys("jobs").entry(1)));
}

}  // namespace
}  // namespace perennial::store::cluster
