#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"

// Nodes whose settings differ.
namespace perennial::store::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SettingsOfNodes : public NodeTest {
 protected:
  static void set(SimulatedNode& node, SettingDigests settings) {
    node.process().post([&node, settings = std::move(settings)]() mutable {
      node.node().set_settings(std::move(settings));
    });
  }
};

TEST_F(SettingsOfNodes, EachIsComparedWithTheLeader) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  set(*a, {{"jobs_max", "1"}, {"newer", "1"}, {"users", "1"}});
  run_for(5 * second);
  EXPECT_THAT(b->settings_differ(), IsEmpty());  // It has told none.
  set(*b, {{"jobs_max", "2"}, {"older", "1"}, {"users", "2"}});
  run_for(3 * second);
  EXPECT_THAT(a->settings_differ(), IsEmpty());
  EXPECT_THAT(b->settings_differ(), ElementsAre("jobs_max", "users"));
  // The leader is changed, as by a reload.
  set(*a, {{"jobs_max", "1"}, {"users", "2"}});
  run_for(3 * second);
  EXPECT_THAT(b->settings_differ(), ElementsAre("jobs_max"));
  // It is only said: the standby takes over, and is what others are compared with.
  a->kill();
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  run_for(3 * second);
  EXPECT_THAT(b->settings_differ(), IsEmpty());
}

TEST_F(SettingsOfNodes, OneThatDiffersDoesNotStandWhereThatIsAskedFor) {
  const auto a = start_leader("a", disk_a_);
  set(*a, {{"users", "1"}});
  NodeOptions strict = options("b");
  strict.refuses_other_settings = true;
  const auto b = start(strict, disk_b_);
  set(*b, {{"users", "2"}});
  run_for(5 * second);
  a->kill();
  run_for(60 * second);
  EXPECT_FALSE(b->leads());
  EXPECT_FALSE(b->has_ended());
  // Nobody else has to come back: it is corrected.
  set(*b, {{"users", "1"}});
  EXPECT_TRUE(run_until([&] { return b->leads(); }, 10 * second));
  expect_all(disk_b_);
}

}  // namespace
}  // namespace perennial::store::cluster
