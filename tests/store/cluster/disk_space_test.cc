#include <algorithm>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"

// Who leads where the disks of some nodes have no space for puts.
namespace perennial::store::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Nanos minute = 60 * second;

class DiskSpaceOfNodes : public NodeTest {};

// Its puts were refused for as long as its disk was full, although both standbys had space.
TEST_F(DiskSpaceOfNodes, ALeaderWithoutSpaceHandsOverToAStandbyThatHasSome) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c_);
  set_space(*b, false);
  run_for(5 * second);
  EXPECT_TRUE(a->leads());
  set_space(*a, false);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 5 * second));
  EXPECT_THAT(a->handovers(), ElementsAre("c"));
  EXPECT_EQ(a->handover_cause(), HandoverCause::NoSpace);
  EXPECT_LT(time_until([&] { return c->leads(); }), second);
  EXPECT_FALSE(b->leads());
  expect_all(disk_c_);
}

TEST_F(DiskSpaceOfNodes, ALeaderWithoutSpaceStaysWhereNobodyHasSome) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  a->write_always(false);
  set_space(*a, false);
  set_space(*b, false);
  run_for(5 * minute);
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
  set_space(*b, true);
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 5 * second));
}

// The standby's machine takes part in etcd and applies nothing.
TEST_F(DiskSpaceOfNodes, ALeaderWithoutSpaceDoesNotHandOverToAStandbyThatIsBehind) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  etcd_.delay_watches(b->process(), 10 * second);
  run_for(5 * second);
  ASSERT_GT(disk_a_.last(), disk_b_.last() + entries_behind_max);
  set_space(*a, false);
  run_for(2 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
}

// Each disk is full soon after its node leads, and has space again when it does not.
TEST_F(DiskSpaceOfNodes, TheLeadDoesNotGoRound) {
  auto a = start_leader("a", disk_a_);
  auto b = start("b", disk_b_);
  a->write_always(false);
  run_for(5 * second);
  const Nanos begun = time_.now();
  uint64_t last_epoch = 1;
  while (time_.now() - begun < 20 * minute) {
    if (a->has_ended()) a = start("a", disk_a_);
    if (b->has_ended()) b = start("b", disk_b_);
    set_space(*a, !a->leads());
    set_space(*b, !b->leads());
    run_for(second);
    last_epoch = std::max({last_epoch, a->epoch(), b->epoch()});
  }
  EXPECT_GE(last_epoch, 5U);
  EXPECT_LE(last_epoch, 8U) << "more than one in three minutes";
}

// It holds as much as c, and has the earlier name.
TEST_F(DiskSpaceOfNodes, AStandbyWithoutSpaceLetsAnotherOneLead) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c_);
  set_space(*b, false);
  a->write_always(false);
  run_for(5 * second);
  a->kill();
  ASSERT_TRUE(run_until([&] { return b->leads() || c->leads(); }, 2 * lease_s * second));
  EXPECT_TRUE(c->leads());
}

// Also when the leader's process is known to have ended, so that all would stand at once.
TEST_F(DiskSpaceOfNodes, AStandbyWithoutSpaceLetsAnotherOneTakeOver) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c_);
  set_space(*b, false);
  run_for(6 * second);
  a->kill();
  learn_of_the_end(*b, 1);
  run_for(second);
  EXPECT_FALSE(b->leads());
  learn_of_the_end(*c, 1);
  EXPECT_LT(time_until([&] { return c->leads(); }), second);
  EXPECT_FALSE(b->leads());
}

// The one that has space hangs. Somebody must lead.
TEST_F(DiskSpaceOfNodes, AStandbyWithoutSpaceLeadsWhereTheOtherOneDoesNotStand) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c_);
  set_space(*b, false);
  run_for(6 * second);
  c->process().pause();
  a->kill();
  learn_of_the_end(*b, 1);
  const Nanos took = time_until([&] { return b->leads(); });
  EXPECT_GT(took, 2 * second - second / 10);
  EXPECT_LT(took, 8 * second);
  expect_all(disk_b_);
}

TEST_F(DiskSpaceOfNodes, ANodeWithoutSpaceThatIsAloneLeadsAtOnce) {
  auto a = start_leader("a", disk_a_);
  set_space(*a, false);
  run_for(3 * second);
  a->kill();
  const auto again = start("a", disk_a_);
  set_space(*again, false);
  EXPECT_LT(time_until([&] { return again->leads(); }), second);
}

}  // namespace
}  // namespace perennial::store::cluster
