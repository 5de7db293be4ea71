#include "store/commit/sync_state.h"

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

constexpr Nanos second = nanos_per_second;

SyncState state(Durability durability) {
  Options options;
  options.durability = durability;
  options.sync_interval_ms = 1000;
  return {options, 10};
}

Batch batch_with(Transition transition) {
  Batch batch;
  batch.add(std::move(transition));
  return batch;
}

TEST(SyncState, BeginsWithEverythingSynced) {
  const SyncState begun = state(Durability::Interval);
  EXPECT_TRUE(begun.is_synced());
  EXPECT_FALSE(begun.is_due(100 * second));
  const LogIndices indices = begun.indices();
  EXPECT_EQ(indices.committed, 10U);
  EXPECT_EQ(indices.applied, 10U);
  EXPECT_EQ(indices.durable, 10U);
}

TEST(SyncState, AWrittenBatchIsCommittedAndASyncedOneIsDurable) {
  SyncState each = state(Durability::Commit);
  each.on_written(11, second);
  EXPECT_FALSE(each.is_synced());
  EXPECT_EQ(each.indices().reply_index(), 11U);
  EXPECT_EQ(each.indices().durable, 10U);
  each.on_synced();
  EXPECT_TRUE(each.is_synced());
  EXPECT_EQ(each.indices().durable, 11U);
}

// The store skips such a batch, and the indices do not fall.
TEST(SyncState, AnOlderBatchChangesNothing) {
  SyncState each = state(Durability::Commit);
  each.on_written(7, second);
  EXPECT_TRUE(each.is_synced());
  EXPECT_EQ(each.indices().committed, 10U);
}

TEST(SyncState, TheIntervalBeginsWithTheFirstUnsyncedBatch) {
  SyncState each = state(Durability::Interval);
  EXPECT_EQ(each.left(5 * second, 77), 77);
  each.on_written(11, 5 * second);
  each.on_written(12, 5 * second + second / 2);
  EXPECT_EQ(each.left(5 * second + second / 4, 10 * second), second * 3 / 4);
  EXPECT_EQ(each.left(5 * second + second / 4, second / 8), second / 8);
  EXPECT_EQ(each.left(9 * second, 10 * second), 0);
  EXPECT_FALSE(each.is_due(6 * second - 1));
  EXPECT_TRUE(each.is_due(6 * second));
  each.on_synced();
  EXPECT_FALSE(each.is_due(6 * second));
}

TEST(SyncState, NoSyncIsDueInTheOtherModes) {
  for (const Durability durability : {Durability::Commit, Durability::Never}) {
    SyncState each = state(durability);
    each.on_written(11, second);
    EXPECT_FALSE(each.is_due(100 * second));
    EXPECT_EQ(each.left(100 * second, 77), 77);
  }
}

TEST(SyncState, ANextIdIsSyncedInEveryMode) {
  const Batch tube = batch_with(TubeStored{.tube = 1, .name = "mail"});
  const Batch next_id = batch_with(NextIdRaised{.next_id = 1000});
  EXPECT_TRUE(state(Durability::Commit).must_sync(tube));
  EXPECT_FALSE(state(Durability::Interval).must_sync(tube));
  EXPECT_FALSE(state(Durability::Never).must_sync(tube));
  EXPECT_TRUE(state(Durability::Interval).must_sync(next_id));
  EXPECT_TRUE(state(Durability::Never).must_sync(next_id));
}

TEST(LogIndices, AReplyWaitsForBothCommittedAndApplied) {
  EXPECT_EQ((LogIndices{.committed = 9, .applied = 7, .durable = 5}.reply_index()), 7U);
  EXPECT_EQ((LogIndices{.committed = 9, .applied = 9, .durable = 5}.reply_index()), 9U);
}

TEST(QuickCommits, TheLoopMayWaitAfterSixteenInARow) {
  QuickCommits commits;
  for (int i = 0; i < 15; ++i) commits.add(QuickCommits::quick);
  EXPECT_FALSE(commits.may_wait());
  commits.add(QuickCommits::quick);
  EXPECT_TRUE(commits.may_wait());
}

TEST(QuickCommits, OneSlowOneResetsTheCount) {
  QuickCommits commits;
  for (int i = 0; i < 100; ++i) commits.add(0);
  commits.add(QuickCommits::quick + 1);
  EXPECT_FALSE(commits.may_wait());
  for (int i = 0; i < 16; ++i) commits.add(0);
  EXPECT_TRUE(commits.may_wait());
}

}  // namespace
}  // namespace perennial::store
