#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"
#include "tests/support/etcd_faults.h"

// Nodes that shall get a copy of another node's database.
namespace perennial::store::cluster {
namespace {

using support::CallFate;
using support::CallKind;
using testing::ElementsAre;
using testing::IsEmpty;

class RepairOfNodes : public NodeTest {
 protected:
  std::unique_ptr<SimulatedNode> start_with_peer_address(const std::string& name,
                                                         SimulatedDisk& disk) {
    NodeOptions made = options(name);
    made.peer_address = name + ":11380";
    return start(made, disk);
  }
  std::unique_ptr<SimulatedNode> start_leader_with_peer_address() {
    std::unique_ptr<SimulatedNode> a = start_with_peer_address("a", disk_a_);
    EXPECT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
    a->write_always(true);
    return a;
  }
  // As `perennial cluster repair NODE` does.
  void ask_to_repair(const std::string& node, const std::string& id = "request") {
    etcd::Transaction ask;
    ask.then.emplace_back(etcd::Put{.key = Keys("jobs").repair(node), .value = id});
    client_->commit(ask, operator_.now() + second, [](const auto&) {});
  }
};

TEST_F(RepairOfNodes, AStandbyTakesTheRequestOnce) {
  const auto a = start_leader_with_peer_address();
  auto b = start_with_peer_address("b", disk_b_);
  run_for(5 * second);
  ask_to_repair("b");
  ASSERT_TRUE(run_until([&] { return b->has_ended(); }, 3 * second));
  EXPECT_EQ(b->repair(), "request");
  EXPECT_FALSE(has_key(Keys("jobs").repair("b")));
  EXPECT_FALSE(has_key(Keys("jobs").node("b"))) << "its place is free for the next directory";
  EXPECT_TRUE(a->leads());
  // With the copy in its place.
  disk_c_.cluster_id = disk_b_.cluster_id;
  disk_c_.entries = disk_a_.entries;
  disk_c_.flushed = disk_a_.flushed;
  b = start_with_peer_address("b", disk_c_);
  run_for(10 * second);
  EXPECT_FALSE(b->has_ended());
}

TEST_F(RepairOfNodes, ALeaderHandsOverFirst) {
  auto a = start_leader_with_peer_address();
  const auto b = start_with_peer_address("b", disk_b_);
  run_for(5 * second);
  ask_to_repair("a");
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 3 * second));
  EXPECT_THAT(a->handovers(), ElementsAre(""));
  EXPECT_EQ(a->handover_cause(), HandoverCause::Repair);
  EXPECT_THAT(a->repair(), IsEmpty());
  EXPECT_TRUE(has_key(Keys("jobs").repair("a")));
  EXPECT_LT(time_until([&] { return b->leads(); }), second);
  a = start_with_peer_address("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 5 * second));
  EXPECT_EQ(a->repair(), "request");
}

// It may hold what no other disk does.
TEST_F(RepairOfNodes, ANodeThatIsAloneWaits) {
  const auto a = start_leader_with_peer_address();
  ask_to_repair("a");
  run_for(30 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_TRUE(has_key(Keys("jobs").repair("a")));
  const auto b = start_with_peer_address("b", disk_b_);
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 10 * second));
}

TEST_F(RepairOfNodes, ANodeWaitsWhereNoOtherSendsCopies) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  ask_to_repair("b");
  run_for(10 * second);
  EXPECT_FALSE(b->has_ended());
}

TEST_F(RepairOfNodes, ANodeWaitsForOneThatHoldsAsMuch) {
  const auto a = start_leader_with_peer_address();
  const auto b = start_with_peer_address("b", disk_b_);
  run_for(5 * second);
  etcd_.delay_watches(b->process(), 10 * second);
  run_for(5 * second);
  ASSERT_GT(disk_a_.last(), disk_b_.last() + entries_behind_max);
  ask_to_repair("a");
  run_for(2 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
}

// Each would get its copy from the other.
TEST_F(RepairOfNodes, TwoNodesDoNotWaitForEachOthersCopies) {
  const auto a = start_leader_with_peer_address();
  const auto b = start_with_peer_address("b", disk_b_);
  run_for(5 * second);
  ask_to_repair("a");
  ask_to_repair("b");
  run_for(10 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_FALSE(b->has_ended());
}

TEST_F(RepairOfNodes, ALeaderDoesNotHandOverWhileTakeoversArePaused) {
  const auto a = start_leader_with_peer_address();
  const auto b = start_with_peer_address("b", disk_b_);
  run_for(5 * second);
  put_for(Keys("jobs").pause(), encode(PauseRecord{.node = "a", .directory = "directory-a"}), 30);
  run_for(2 * second);
  ask_to_repair("a");
  run_for(20 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 20 * second));
}

// etcd has deleted the key, and the answer was lost.
TEST_F(RepairOfNodes, ARequestWhoseOutcomeIsNotKnownIsTaken) {
  const auto a = start_leader_with_peer_address();
  const auto b = start_with_peer_address("b", disk_b_);
  run_for(6 * second + second / 2);  // Not when it looks who leads.
  ask_to_repair("b");
  ASSERT_TRUE(run_until([&] { return has_key(Keys("jobs").repair("b")); }, second));
  // The next one publishes, and the one after takes the request.
  etcd_.plan(b->process(), CallKind::Commit, CallFate{});
  etcd_.plan(b->process(), CallKind::Commit, CallFate{.is_answer_lost = true});
  ASSERT_TRUE(run_until([&] { return b->has_ended(); }, 10 * second));
  EXPECT_EQ(b->repair(), "request");
}

}  // namespace
}  // namespace perennial::store::cluster
