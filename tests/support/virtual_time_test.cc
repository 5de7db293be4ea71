#include "tests/support/virtual_time.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace perennial::support {
namespace {

constexpr Nanos ms = nanos_per_ms;

TEST(VirtualTime, RunsTimersWhenTheyAreDue) {
  VirtualTime time(1);
  VirtualTime::Node& node = time.add_node();
  std::string order;
  node.after(20 * ms, [&] { order += "c"; });
  node.after(10 * ms, [&] { order += "a"; });
  node.after(10 * ms, [&] { order += "b"; });
  time.run_for(10 * ms);
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(node.now(), VirtualTime::start + 10 * ms);
  EXPECT_TRUE(time.run_one());
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(node.now(), VirtualTime::start + 20 * ms);
  EXPECT_FALSE(time.run_one());
}

TEST(VirtualTime, RunsUntilItIsDoneOrTheTimeIsOver) {
  VirtualTime time(1);
  VirtualTime::Node& node = time.add_node();
  int fired = 0;
  for (int i = 1; i <= 5; ++i) node.after(i * ms, [&] { ++fired; });
  EXPECT_TRUE(time.run_until([&] { return fired == 2; }, 10 * ms));
  EXPECT_EQ(time.now(), VirtualTime::start + 2 * ms);
  EXPECT_FALSE(time.run_until([&] { return fired == 9; }, 10 * ms));
  EXPECT_EQ(time.now(), VirtualTime::start + 12 * ms);
  EXPECT_EQ(fired, 5);
}

TEST(VirtualTime, ACancelledTimerDoesNotFire) {
  VirtualTime time(1);
  VirtualTime::Node& node = time.add_node();
  std::string order;
  const auto first = node.after(ms, [&] { order += "a"; });
  const auto second = node.after(ms, [&] { order += "b"; });
  node.cancel_timer(first);
  node.cancel_timer(first);
  node.cancel_timer(99);
  time.run_for(2 * ms);
  node.cancel_timer(second);
  EXPECT_EQ(order, "b");
}

TEST(VirtualTime, RunsPostsInOrderAndNeverAtOnce) {
  VirtualTime time(1);
  VirtualTime::Node& node = time.add_node();
  std::string order;
  node.post([&] {
    node.post([&] { order += "d"; });
    order += "a";
  });
  node.post([&] { order += "b"; });
  node.post([&] { order += "c"; });
  EXPECT_EQ(order, "");
  time.run_for(2 * VirtualTime::turn_max);
  EXPECT_EQ(order, "abcd");
}

TEST(VirtualTime, APausedNodeRunsLate) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    VirtualTime time(seed);
    VirtualTime::Node& node = time.add_node();
    std::string posts;
    std::string timers;
    Nanos fired_at = 0;
    node.post([&] { posts += "a"; });
    node.after(10 * ms, [&] {
      timers += "a";
      fired_at = node.now();
    });
    node.after(11 * ms, [&] { timers += "b"; });
    const auto cancelled = node.after(12 * ms, [&] { timers += "c"; });
    node.pause();
    time.run_for(30 * ms);
    node.post([&] { posts += "b"; });
    node.cancel_timer(cancelled);
    time.run_for(30 * ms);
    EXPECT_EQ(posts + timers, "");
    EXPECT_EQ(node.now(), VirtualTime::start + 60 * ms) << "its clock goes on";
    node.resume();
    node.post([&] { posts += "c"; });
    time.run_for(ms);
    EXPECT_EQ(posts, "abc");
    EXPECT_EQ(timers, "ab");
    EXPECT_EQ(fired_at, VirtualTime::start + 60 * ms);
  }
}

TEST(VirtualTime, AfterAPauseTimersOrPostsMayComeFirst) {
  int posts_first = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    VirtualTime time(seed);
    VirtualTime::Node& node = time.add_node();
    std::string order;
    node.pause();
    node.after(ms, [&] { order += "t"; });
    node.post([&] { order += "p"; });
    time.run_for(2 * ms);
    node.resume();
    time.run_for(ms);
    posts_first += order == "pt" ? 1 : 0;
    EXPECT_TRUE(order == "pt" || order == "tp") << order;
  }
  EXPECT_GT(posts_first, 0);
  EXPECT_LT(posts_first, 100);
}

TEST(VirtualTime, OfAKilledNodeNothingRuns) {
  VirtualTime time(1);
  VirtualTime::Node& node = time.add_node();
  VirtualTime::Node& other = time.add_node();
  std::string order;
  const auto owned = std::make_shared<int>();
  node.post([&, owned] { order += "a"; });
  node.after(ms, [&, owned] { order += "b"; });
  other.after(ms, [&] { order += "c"; });
  other.post([&] { node.kill(); });
  other.post([&] { order += "d"; });
  while (!node.is_killed()) time.run_one();
  const bool had_run = order == "a";
  node.post([&, owned] { order += "e"; });
  node.after(0, [&, owned] { order += "f"; });
  EXPECT_EQ(owned.use_count(), 1) << "what they owned is gone";
  time.run_for(2 * ms);
  EXPECT_EQ(order, had_run ? "adc" : "dc");
}

TEST(VirtualTime, ANodeMayKillItself) {
  VirtualTime time(1);
  VirtualTime::Node& node = time.add_node();
  bool has_run = false;
  const auto owned = std::make_shared<std::string>("still here");
  node.post([&, owned] {
    node.kill();
    has_run = *owned == "still here";
  });
  node.post([&] { has_run = false; });
  time.run_for(ms);
  EXPECT_TRUE(has_run);
}

// An owner cancels its timers when it is destroyed, and may itself be owned by an event.
TEST(VirtualTime, WhatAKillDestroysMayCancelTimers) {
  VirtualTime time(1);
  VirtualTime::Node& node = time.add_node();
  struct Owner {
    VirtualTime::Node& node;
    store::etcd::TimerId timer;
    ~Owner() { node.cancel_timer(timer); }
  };
  const auto timer = node.after(2 * ms, [] {});
  auto owner = std::make_shared<Owner>(Owner{node, timer});
  const auto owning = node.after(ms, [owner] {});
  owner.reset();
  node.post([] {});
  node.cancel_timer(owning);
  time.run_for(3 * ms);
  EXPECT_EQ(time.now(), VirtualTime::start + 3 * ms);
  auto last = std::make_shared<Owner>(Owner{node, node.after(ms, [] {})});
  node.after(ms, [last] {});
  last.reset();
  node.kill();
  EXPECT_FALSE(time.run_one());
}

std::string order_of(uint64_t seed) {
  VirtualTime time(seed);
  std::string order;
  for (char name = 'a'; name < 'i'; ++name) {
    VirtualTime::Node& node = time.add_node();
    node.post([&order, name] { order += name; });
  }
  time.run_for(ms);
  return order;
}

TEST(VirtualTime, TheSameSeedGivesTheSameOrder) {
  EXPECT_EQ(order_of(7), order_of(7));
  EXPECT_NE(order_of(7), order_of(8));
}

}  // namespace
}  // namespace perennial::support
