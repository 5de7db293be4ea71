#include <memory>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"

// Nodes that were asked not to lead for a while.
namespace perennial::store::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Resignation : public NodeTest {
 protected:
  // As `perennial cluster resign NODE --for` does.
  void resign(const std::string& node, int64_t for_s) {
    put_for(Keys("jobs").resignation(node), node, for_s);
  }
};

TEST_F(Resignation, ALeaderHandsOverAndComesBackAsAStandby) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  resign("a", 60);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 3 * second));
  EXPECT_THAT(a->handovers(), ElementsAre(""));
  EXPECT_EQ(a->handover_cause(), HandoverCause::Resigned);
  EXPECT_LT(time_until([&] { return b->leads(); }), second);
  const auto again = start("a", disk_a_);
  run_for(10 * second);
  EXPECT_FALSE(again->leads());
  EXPECT_FALSE(again->has_ended());
  expect_all(disk_b_);
}

// Whoever has asked for it may have forgotten it.
TEST_F(Resignation, EndsByItself) {
  auto a = start_leader("a", disk_a_);
  a->write_always(false);
  run_for(2 * second);
  resign("a", 60);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 3 * second));
  const auto again = start("a", disk_a_);
  run_for(50 * second);
  EXPECT_FALSE(again->leads());
  EXPECT_EQ(again->abstention(), Election::Abstention::Resigned);
  EXPECT_LT(time_until([&] { return again->leads(); }), 15 * second);
}

TEST_F(Resignation, AStandbyLetsAnotherOneTakeOver) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c_);
  run_for(3 * second);
  resign("b", 600);
  run_for(6 * second);
  a->kill();
  learn_of_the_end(*b, 1);
  run_for(second);
  EXPECT_FALSE(b->leads());
  learn_of_the_end(*c, 1);
  EXPECT_LT(time_until([&] { return c->leads(); }), second);
}

// It has seen nothing of it yet when it stands.
TEST_F(Resignation, CountsAlsoWhereTheNodeHasNotSeenIt) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(6 * second);
  a->kill();
  resign("b", 60);
  ASSERT_TRUE(run_until([&] { return has_key(Keys("jobs").resignation("b")); }, second));
  learn_of_the_end(*b, 1);
  run_for(30 * second);
  EXPECT_FALSE(b->leads());
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 60 * second));
}

TEST_F(Resignation, IsTakenBack) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(3 * second);
  resign("b", 3600);
  run_for(6 * second);
  a->kill();
  run_for(30 * second);
  EXPECT_FALSE(b->leads());
  remove(Keys("jobs").resignation("b"));
  EXPECT_LT(time_until([&] { return b->leads(); }), 3 * second);
}

TEST_F(Resignation, NoHandoverNamesTheNode) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  resign("b", 3600);
  run_for(2 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = a->epoch(), .to = "b"}));
  set_space(*a, false);
  run_for(30 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
  EXPECT_EQ(a->declined(), "b has resigned");
}

}  // namespace
}  // namespace perennial::store::cluster
