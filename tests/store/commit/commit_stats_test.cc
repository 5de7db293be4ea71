#include "store/commit/commit_stats.h"

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

Options options() {
  Options given;
  given.durability = Durability::Interval;
  given.log_bytes_max = 5 << 20;
  return given;
}

Batch batch_of(int jobs) {
  Batch batch;
  for (JobId id = 1; id <= static_cast<JobId>(jobs); ++id) {
    batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
  }
  return batch;
}

TEST(CommitStats, HasTheOptionsFromTheStart) {
  const CommitStats stats(options());
  EXPECT_EQ(stats.facts().durability, "interval");
  EXPECT_EQ(stats.facts().log_bytes_max, 5U << 20);
  EXPECT_EQ(stats.facts().state, "ok");
  EXPECT_EQ(stats.facts().records_written, 0U);
}

TEST(CommitStats, CountsTransitionsAtOnceAndTheRestOnceASecond) {
  CommitStats stats(options());
  EXPECT_TRUE(stats.is_due(0));
  stats.refresh(7, {.oldest_index = 3, .newest_index = 4});
  EXPECT_EQ(stats.facts().log_oldest_index, 3U);
  EXPECT_EQ(stats.facts().log_current_index, 4U);
  stats.on_batch(batch_of(2));
  stats.on_batch(batch_of(5));
  stats.on_sync(300'000);
  EXPECT_EQ(stats.facts().records_written, 7U);
  EXPECT_EQ(stats.facts().batch_jobs_mean, 0);
  EXPECT_EQ(stats.facts().sync_us_p99, 0U);
  EXPECT_FALSE(stats.is_due(7 + nanos_per_second - 1));
  EXPECT_TRUE(stats.is_due(7 + nanos_per_second));
  stats.refresh(7 + nanos_per_second, {.oldest_index = 3, .newest_index = 4});
  EXPECT_EQ(stats.facts().batch_jobs_mean, 3.5);
  EXPECT_EQ(stats.facts().sync_us_p99, 300U);
}

TEST(CommitStats, CountsEachBatchAndSyncByItsSize) {
  CommitStats stats(options());
  const store::Batch batch = batch_of(2);
  stats.on_batch(batch);
  stats.on_batch(batch_of(5));
  stats.on_sync(300'000);
  const BatchFigures& figures = stats.facts().batches;
  EXPECT_EQ(figures.jobs.count(), 2U);
  EXPECT_EQ(figures.jobs.view().sum, 7);
  EXPECT_EQ(figures.bytes.count(), 2U);
  EXPECT_GE(figures.bytes.view().sum, static_cast<double>(2 * batch.bytes()));
  EXPECT_EQ(figures.syncs.count(), 1U);
  EXPECT_EQ(figures.syncs.view().sum, 300'000);
}

TEST(CommitStats, HasTheStateThatWasSet) {
  CommitStats stats(options());
  stats.set_state("behind");
  EXPECT_EQ(stats.facts().state, "behind");
}

TEST(Recent, KeepsOnlyTheLast512Values) {
  Recent recent;
  EXPECT_EQ(recent.mean(), 0);
  EXPECT_EQ(recent.p99(), 0U);
  for (int i = 0; i < 512; ++i) recent.add(1000);
  EXPECT_EQ(recent.mean(), 1000);
  for (int i = 0; i < 512; ++i) recent.add(i < 506 ? 2 : 4);
  EXPECT_EQ(recent.p99(), 4U);
  for (int i = 0; i < 512; ++i) recent.add(i < 507 ? 2 : 4);
  EXPECT_EQ(recent.p99(), 2U);
}

}  // namespace
}  // namespace perennial::store
