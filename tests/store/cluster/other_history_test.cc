#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/cluster/entry.h"
#include "tests/store/cluster/node_fixture.h"

// etcd goes back in time while nodes live: it is restored from an older snapshot, or replaced. What
// nodes hold and etcd does not was acknowledged, so nobody may lead without it and no node may mix
// the two histories.
//
// Fields: names of tubes that tell each entry. Times: those of leases, and of pauses. Blind to what
// an etcd of several members does while it is restored, which tests/cluster/restore_test.py sees.
namespace perennial::store::cluster {
namespace {

using support::EtcdModel;
using testing::HasSubstr;

class OtherHistory : public NodeTest {
 protected:
  std::vector<etcd::KeyValue> keys_of(const etcd::KeyRange& range) const {
    return std::get<etcd::Found>(etcd_.model().get({.range = range})).keys;
  }
  std::optional<RefusalRecord> refusal_of(const std::string& node) const {
    const auto found = keys_of({.key = Keys("jobs").refusal(node)});
    return found.empty() ? std::nullopt : decode_refusal(found[0].value);
  }
  // Node a leads and writes for two seconds. Returns etcd as it was after the first.
  EtcdModel snapshot_of_a_leader(std::unique_ptr<SimulatedNode>& a) {
    a = start_leader("a", disk_a_);
    run_for(second);
    EtcdModel snapshot = etcd_.model();
    run_for(second);
    return snapshot;
  }
  // Node a ends, etcd is what it was, and node a starts again.
  void refuse_after(SimulatedNode& a, const EtcdModel& snapshot) {
    a.kill();
    etcd_.restore(snapshot);
    const auto again = start("a", disk_a_);
    ASSERT_TRUE(run_until([&] { return again->has_ended(); }, 10 * second));
  }
};

// It passed over what it thought to have, applied the next entry, and led.
TEST_F(OtherHistory, IsNotAppliedByAStandbyThatWasPaused) {
  std::unique_ptr<SimulatedNode> a;
  const auto b = start("b", disk_b_);
  const EtcdModel snapshot = snapshot_of_a_leader(a);
  b->process().pause();
  a->kill();
  etcd_.restore(snapshot);
  const auto c = start_leader("c", disk_c_);
  ASSERT_TRUE(run_until([&] { return disk_c_.last() > disk_a_.last() + 10; }, 60 * second));
  b->process().resume();
  ASSERT_TRUE(run_until([&] { return b->has_ended(); }, 60 * second));
  EXPECT_THAT(b->refused()->message(), HasSubstr("older snapshot"));
  for (const auto& [index, bytes] : disk_b_.entries) EXPECT_EQ(bytes, disk_a_.entries[index]);
  EXPECT_EQ(refusal_of("b")->holds, disk_b_.last());
  EXPECT_TRUE(c->leads());
}

// The same with a watch that never ended, for the case that a client hides what happened to it.
TEST_F(OtherHistory, IsNoticedByTheEntryThatComesNext) {
  std::unique_ptr<SimulatedNode> a;
  const auto b = start("b", disk_b_);
  snapshot_of_a_leader(a);
  a->kill();
  run_for(second);
  const BatchIndex next = disk_b_.last() + 1;
  etcd::Transaction put;
  const std::string alien = entry_bytes(9, next, time_.now(), "alien");
  put.then.emplace_back(
      etcd::Put{.key = Keys("jobs").entry(next), .value = chain_entry(alien, 12345)});
  client_->commit(put, operator_.now() + second, [](const auto&) {});
  ASSERT_TRUE(run_until([&] { return b->has_ended(); }, 10 * second));
  EXPECT_THAT(b->refused()->message(), HasSubstr("does not follow"));
  EXPECT_EQ(disk_b_.last(), next - 1);
}

// It led the old snapshot, and what was acknowledged since was gone.
TEST_F(OtherHistory, IsNotLedWhileANodeIsThereThatHoldsMore) {
  std::unique_ptr<SimulatedNode> a;
  const auto b = start("b", disk_b_);
  const EtcdModel snapshot = snapshot_of_a_leader(a);
  a->kill();
  etcd_.restore(snapshot);
  const auto c = start("c", disk_c_);
  run_for(100 * second);
  EXPECT_TRUE(b->has_ended());
  EXPECT_THAT(b->refused()->message(), HasSubstr("older snapshot"));
  EXPECT_FALSE(c->leads());
  ASSERT_TRUE(c->outrun());
  EXPECT_EQ(c->outrun()->node, "b");
  EXPECT_EQ(c->outrun()->index, disk_b_.last());
}

// etcd answered the one that had just started first, and it led for a second until the other had
// noticed. A nemesis found that: tests/cluster/nemesis_test.py.
TEST_F(OtherHistory, IsNotLedBeforeThoseWhoLiveHaveSpoken) {
  std::unique_ptr<SimulatedNode> a;
  const auto b = start("b", disk_b_);
  const EtcdModel snapshot = snapshot_of_a_leader(a);
  b->process().pause();
  a->kill();
  etcd_.restore(snapshot);
  remove(Keys("jobs").leader());  // Its lease is over.
  const auto c = start("c", disk_c_);
  run_for(5 * second);
  EXPECT_FALSE(c->leads());
  b->process().resume();
  run_for(100 * second);
  ASSERT_TRUE(b->has_ended());
  EXPECT_THAT(b->refused()->message(), HasSubstr("older snapshot"));
  EXPECT_FALSE(c->leads());
  ASSERT_TRUE(c->outrun());
  EXPECT_EQ(c->outrun()->node, "b");
}

TEST_F(OtherHistory, IsNotLedAfterANodeWasRefusedThatHoldsMore) {
  std::unique_ptr<SimulatedNode> a;
  const EtcdModel snapshot = snapshot_of_a_leader(a);
  refuse_after(*a, snapshot);
  const std::optional<RefusalRecord> refusal = refusal_of("a");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->directory, "directory-a");
  EXPECT_EQ(refusal->holds, disk_a_.last());
  const auto c = start("c", disk_c_);
  run_for(100 * second);
  EXPECT_FALSE(c->leads());
  ASSERT_TRUE(c->outrun());
  EXPECT_EQ(c->outrun()->node, "a");
}

TEST_F(OtherHistory, IsLedWhenTheNodeThatHoldsMoreWasEmptied) {
  std::unique_ptr<SimulatedNode> a;
  const EtcdModel snapshot = snapshot_of_a_leader(a);
  refuse_after(*a, snapshot);
  const auto c = start("c", disk_c_);
  run_for(30 * second);
  ASSERT_FALSE(c->leads());
  SimulatedDisk emptied{.directory = "directory-d"};
  const auto again = start("a", emptied);
  ASSERT_TRUE(run_until([&] { return c->leads() || again->leads(); }, 30 * second));
  EXPECT_FALSE(refusal_of("a"));
}

// The right snapshot is found after all.
TEST_F(OtherHistory, EndsWhenEtcdHasTheRightOneAgain) {
  std::unique_ptr<SimulatedNode> a;
  const EtcdModel snapshot = snapshot_of_a_leader(a);
  a->kill();
  const EtcdModel newest = etcd_.model();
  refuse_after(*a, snapshot);
  etcd_.restore(newest);
  const auto again = start("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return again->leads(); }, 30 * second));
  EXPECT_FALSE(refusal_of("a"));
  expect_all(disk_a_);
}

TEST_F(OtherHistory, OfAnEtcdThatWasReplacedIsNoticedByNodesThatLive) {
  std::unique_ptr<SimulatedNode> a;
  const auto b = start("b", disk_b_);
  snapshot_of_a_leader(a);
  etcd_.replace();
  ASSERT_TRUE(run_until([&] { return a->has_ended() && b->has_ended(); }, 60 * second));
  EXPECT_THAT(b->refused()->message(), HasSubstr("etcd holds no cluster jobs"));
}

// Nothing else tells whether the next entry follows.
TEST_F(OtherHistory, CannotBeToldFromTheOwnWithoutTheEntryThatTheDirectoryEndsWith) {
  std::unique_ptr<SimulatedNode> a;
  const auto b = start("b", disk_b_);
  snapshot_of_a_leader(a);
  b->kill();
  const BatchIndex held = disk_b_.last();
  run_for(second);
  etcd::Transaction trim;
  trim.then.emplace_back(etcd::Delete{Keys("jobs").entries_before(held + 1)});
  client_->commit(trim, operator_.now() + second, [](const auto&) {});
  run_for(second);
  const auto again = start("b", disk_b_);
  ASSERT_TRUE(run_until([&] { return again->has_ended(); }, 10 * second));
  EXPECT_TRUE(again->is_behind());
}

// -- The chain.

TEST_F(OtherHistory, EntriesFollowEachOther) {
  std::unique_ptr<SimulatedNode> a;
  snapshot_of_a_leader(a);
  uint64_t previous = 0;
  const auto entries = keys_of(Keys("jobs").entries_from(0));
  ASSERT_GT(entries.size(), 10U);
  for (const etcd::KeyValue& entry : entries) {
    const Result<Entry> opened = open_entry(entry.value);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->previous, previous) << entry.key;
    previous = hash_of_entry(entry.value);
  }
}

TEST_F(OtherHistory, TheChainGoesOnAtATakeover) {
  std::unique_ptr<SimulatedNode> a;
  const auto b = start("b", disk_b_);
  snapshot_of_a_leader(a);
  a->kill();
  b->write_always(true);
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  run_for(second);
  uint64_t previous = 0;
  for (const etcd::KeyValue& entry : keys_of(Keys("jobs").entries_from(0))) {
    EXPECT_EQ(open_entry(entry.value)->previous, previous) << entry.key;
    previous = hash_of_entry(entry.value);
  }
}

// While the nodes are upgraded, one after the other.
TEST_F(OtherHistory, WithoutTheChainWhileANodeCannotReadIt) {
  const auto a = start_leader("a", disk_a_);
  NodeOptions older = options("b");
  older.format = chained_entry_format - 1;
  auto b = start(older, disk_b_);
  run_for(5 * second);
  const auto is_chained = [](const etcd::KeyValue& entry) {
    return static_cast<uint8_t>(entry.value[0]) == chained_entry_format;
  };
  const Keys keys("jobs");
  EXPECT_FALSE(is_chained(keys_of(keys.entries_from(0)).back()));
  b->kill();
  run_for(20 * second);
  b = start("b", disk_b_);
  run_for(5 * second);
  EXPECT_TRUE(is_chained(keys_of(keys.entries_from(0)).back()));
  EXPECT_FALSE(b->has_ended());
  a->write_always(false);
  run_for(second);
  expect_all(disk_b_);
}

// A node that reads entries with the chain, and no batch with notes; and one that reads those, and
// none with ended jobs.
TEST_F(OtherHistory, WithoutWhatANodeCannotRead) {
  const auto a = start_leader("a", disk_a_);
  run_for(5 * second);
  EXPECT_EQ(a->others_read(), newest_batch_format);
  for (const uint8_t format : {chained_entry_format, batch_format_with_notes}) {
    NodeOptions older = options("b");
    older.format = format;
    const auto b = start(older, disk_b_);
    run_for(5 * second);
    EXPECT_EQ(a->others_read(), format);
    EXPECT_EQ(b->others_read(), newest_batch_format);
    b->kill();
    run_for(20 * second);
  }
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  EXPECT_EQ(a->others_read(), newest_batch_format);
}

}  // namespace
}  // namespace perennial::store::cluster
