#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"

// A node whose database is known to be damaged is replaced, and does not lead where another one
// can. The damage is what the test says; it is blind to how it is found, which ScrubTest has.
namespace perennial::store::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DamagedNodes : public NodeTest {
 protected:
  std::unique_ptr<SimulatedNode> start_peer(const std::string& name, SimulatedDisk& disk) {
    NodeOptions made = options(name);
    made.peer_address = name + ":11380";
    return start(std::move(made), disk);
  }
  static void damage(SimulatedNode& node) {
    node.process().post([&node] { node.node().set_damaged(); });
  }

  SimulatedDisk disk_c_{.directory = "directory-c"};
};

TEST_F(DamagedNodes, AStandbyIsReplacedAndTheLeaderStays) {
  const auto a = start_peer("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  a->write_always(true);
  const auto b = start_peer("b", disk_b_);
  run_for(5 * second);
  damage(*b);
  EXPECT_LT(time_until([&] { return b->is_replaced(); }), 3 * second);
  run_for(20 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(a->epoch(), 1U);
}

// Nobody gives copies.
TEST_F(DamagedNodes, AStandbyGoesOnWhereNoOtherNodeGivesCopies) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  damage(*b);
  run_for(10 * second);
  EXPECT_FALSE(b->is_replaced());
  a->write_always(false);
  run_for(second);
  expect_all(disk_b_);
}

TEST_F(DamagedNodes, ALeaderHandsOverToAStandbyThatIsNotDamaged) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c_);
  run_for(5 * second);
  EXPECT_TRUE(a->has_successor());
  damage(*b);
  run_for(3 * second);
  damage(*a);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 5 * second));
  EXPECT_THAT(a->handovers(), ElementsAre("c"));
  EXPECT_EQ(a->handover_cause(), HandoverCause::Damaged);
  EXPECT_LT(time_until([&] { return c->leads(); }), second);
  expect_all(disk_c_);
}

// What it has in memory is whole.
TEST_F(DamagedNodes, ALeaderGoesOnWhereNoOtherNodeIsWhole) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  damage(*b);
  run_for(3 * second);
  EXPECT_FALSE(a->has_successor());
  damage(*a);
  run_for(20 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
}

}  // namespace
}  // namespace perennial::store::cluster
