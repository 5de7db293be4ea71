#include "store/store.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

Options options_for(const TempDir& dir) {
  Options options;
  options.data_dir = dir.data_dir();
  return options;
}

std::unique_ptr<Store> open(const Options& options) {
  Result<std::unique_ptr<Store>> store = Store::open(options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? store.take() : nullptr;
}

void put(Store& store, JobId id, BatchIndex index, std::string_view body) {
  Batch batch;
  batch.add(TubeStored{.tube = 0, .name = "default"});
  const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body.size())};
  batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
  batch.seal(
      {.epoch = store.opening().epoch, .index = index, .known_durable = index - 1, .now = 5});
  ASSERT_TRUE(store.write(batch, true).ok());
}

// Writes batches of the model to the store.
void write_some(Store& store, StoreModel& model, int batches, int transitions) {
  Batch batch;
  for (int i = 0; i < batches; ++i) {
    model.next(batch, transitions);
    ASSERT_TRUE(store.write(batch, i % 3 == 0).ok());
  }
}

TEST(Store, ANewStoreIsEmpty) {
  const TempDir dir;
  const auto store = open(options_for(dir));
  EXPECT_EQ(store->opening().epoch, 1U);
  EXPECT_EQ(store->opening().last_index, 0U);
  EXPECT_EQ(store->opening().last_now, 0);
  EXPECT_EQ(store->opening().next_id, 1U);
  EXPECT_EQ(difference(*store, Image()), "");
}

TEST(Store, EveryOpenRaisesTheEpoch) {
  const TempDir dir;
  for (uint64_t epoch = 1; epoch < 4; ++epoch) {
    EXPECT_EQ(open(options_for(dir))->opening().epoch, epoch);
  }
}

TEST(Store, ADirectoryBelongsToOneClusterForGood) {
  const TempDir dir;
  {
    const auto store = open(options_for(dir));
    EXPECT_EQ(store->cluster_id(), "");
    ASSERT_TRUE(store->join_cluster("0123456789abcdef").ok());
    EXPECT_EQ(store->cluster_id(), "0123456789abcdef");
    put(*store, 1, 1, "a body");
  }
  const auto store = open(options_for(dir));
  EXPECT_EQ(store->cluster_id(), "0123456789abcdef");
  EXPECT_EQ(store->reached()->next_id, 2U) << "the row does not hide others";
}

// As after the loss of its cluster. The next id is there after a crash and after a clean end.
TEST(Store, ADirectoryBeginsAnotherCluster) {
  const TempDir dir;
  constexpr JobId raised = (JobId{1} << 40) + 2;
  {
    const auto store = open(options_for(dir));
    ASSERT_TRUE(store->join_cluster("first").ok());
    put(*store, 1, 1, "a body");
    ASSERT_TRUE(store->begin_cluster("second", raised).ok());
    EXPECT_EQ(store->cluster_id(), "second");
  }
  {
    const auto store = open(options_for(dir));
    EXPECT_EQ(store->cluster_id(), "second");
    EXPECT_EQ(store->opening().next_id, raised);
    EXPECT_EQ(store->opening().last_index, 1U);
    EXPECT_EQ(store->read_body(1)->view(), "a body");
    ASSERT_TRUE(store->close(raised).ok());
  }
  EXPECT_EQ(open(options_for(dir))->opening().next_id, raised);
}

// What a standby reads when it becomes the leader, without another start.
TEST(Store, WhatIsReachedIsWhatAStartWouldFind) {
  const TempDir dir;
  const auto store = open(options_for(dir));
  put(*store, 7, 1, "a body");
  Result<Opening> reached = store->reached();
  ASSERT_TRUE(reached.ok());
  EXPECT_EQ(reached->last_index, 1U);
  EXPECT_EQ(reached->last_now, 5);
  EXPECT_EQ(reached->next_id, 8U);
  EXPECT_EQ(reached->epoch, store->opening().epoch);
}

// The histories have many batches over several lives of the store, which end cleanly or not.
TEST(Store, HoldsWhatTheModelHolds) {
  for (uint64_t round = 0; round < 4; ++round) {
    const TempDir dir;
    StoreModel model(support::seed() + round);
    for (int life = 0; life < 5; ++life) {
      auto store = open(options_for(dir));
      ASSERT_EQ(difference(*store, model.image()), "") << "round " << round << " life " << life;
      ASSERT_EQ(store->opening().last_index, model.index());
      ASSERT_EQ(store->opening().last_now, model.index() == 0 ? 0 : model.now());
      ASSERT_GE(store->opening().next_id, model.next_id());
      model.reopened(store->opening());
      write_some(*store, model, 60, 1 << (2 * life));
      ASSERT_EQ(difference(*store, model.image()), "");
      if (life % 2 == 0) {
        ASSERT_TRUE(store->close(model.next_id()).ok());
      }
    }
  }
}

// Everything is flushed and compacted between the batches, so that tables and tombstones meet.
TEST(Store, HoldsWhatTheModelHoldsThroughCompactions) {
  const TempDir dir;
  StoreModel model(support::seed());
  auto store = open(options_for(dir));
  std::atomic<bool> cancelled = false;
  for (int round = 0; round < 12; ++round) {
    write_some(*store, model, 20, 100);
    ASSERT_TRUE(store->flush().ok());
    if (round % 4 == 3) {
      ASSERT_TRUE(store->compact_tombstones(cancelled, 0).ok());
    }
    ASSERT_EQ(difference(*store, model.image()), "") << "round " << round;
  }
}

TEST(Store, ABatchThatWasAppliedIsSkipped) {
  const TempDir dir;
  {
    const auto store = open(options_for(dir));
    put(*store, 1, 1, "first");
    put(*store, 2, 1, "a batch with the same number");
  }
  const auto store = open(options_for(dir));
  put(*store, 3, 1, "and again, after a start");
  const Result<Image> image = read_image(*store);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->jobs.size(), 1U);
  EXPECT_TRUE(image->jobs.contains(1));
}

TEST(StoreDeathTest, RefusesABatchThatLeavesAGap) {
  const TempDir dir;
  const auto store = open(options_for(dir));
  Batch batch;
  batch.add(NextIdRaised{.next_id = 10});
  batch.seal({.epoch = 1, .index = 2, .known_durable = 0, .now = 1});
  EXPECT_DEATH(ignore(store->write(batch, true), "it ends before"), "check_failed");
}

Batch raising(JobId next_id, const BatchPlace& place) {
  Batch batch;
  batch.add(NextIdRaised{.next_id = next_id});
  batch.seal(place);
  return batch;
}

TEST(StoreDeathTest, RefusesABatchOfAnEarlierEpoch) {
  const TempDir dir;
  open(options_for(dir));
  const auto store = open(options_for(dir));
  const Batch batch = raising(10, {.epoch = 1, .index = 1});
  EXPECT_DEATH(ignore(store->write(batch, true), "it ends before"), "check_failed");
}

// Another process may continue the history, and this store then applies its batches.
TEST(Store, ABatchMayBeOfALaterEpoch) {
  const TempDir dir;
  {
    const auto store = open(options_for(dir));
    ASSERT_TRUE(store->write(raising(10, {.epoch = 1, .index = 1}), false).ok());
    EXPECT_EQ(store->applied(), 1U);
    EXPECT_EQ(store->durable(), 0U);
    ASSERT_TRUE(store->write(raising(20, {.epoch = 5, .index = 2}), false).ok());
    EXPECT_EQ(store->applied(), 2U);
    EXPECT_EQ(store->durable(), 1U);  // Everything before the new epoch was synced.
    ASSERT_TRUE(store->write(raising(30, {.epoch = 5, .index = 3}), true).ok());
    EXPECT_EQ(store->durable(), 3U);
  }
  const auto store = open(options_for(dir));
  EXPECT_EQ(store->opening().epoch, 6U);
  EXPECT_EQ(store->opening().last_index, 3U);
  EXPECT_EQ(store->opening().next_id, 30U);
  // An applied batch is skipped, whatever its epoch.
  EXPECT_TRUE(store->write(raising(10, {.epoch = 1, .index = 1}), true).ok());
}

TEST(Store, NextIdIsTheMarkAfterACrashAndExactAfterACleanStop) {
  const TempDir dir;
  {
    const auto store = open(options_for(dir));
    Batch batch;
    batch.add(NextIdRaised{.next_id = 1000});
    batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
    ASSERT_TRUE(store->write(batch, true).ok());
  }
  {
    const auto store = open(options_for(dir));
    EXPECT_EQ(store->opening().next_id, 1000U);
    ASSERT_TRUE(store->close(1003).ok());
  }
  EXPECT_EQ(open(options_for(dir))->opening().next_id, 1003U);
}

TEST(Store, NextIdIsAboveEveryJob) {
  const TempDir dir;
  {
    const auto store = open(options_for(dir));
    put(*store, 77, 1, "");
  }
  EXPECT_EQ(open(options_for(dir))->opening().next_id, 78U);
}

// The rows of one key and of one tube's settings after each batch, across starts and flushes. A row
// may be older than the batch that overwrites or frees it.
TEST(Store, KeysAndSettingsAreOverwrittenAndRemoved) {
  const TempDir dir;
  const auto key_of = [](JobId job) {
    return KeyStored{
        .tube = "t", .key = "k", .job = job, .until = KeyUntil::Deleted, .expires_at = 0};
  };
  const KeyFreed freed = {.tube = "t", .key = "k"};
  const auto settings_of = [](std::optional<uint32_t> tries) {
    return SettingsStored{.tube = "t", .settings = {.tries = tries}};
  };
  struct Step {
    std::vector<Transition> batch;
    JobId holder;  // 0: no row.
    uint32_t tries;
  };
  const Step steps[] = {
      {{key_of(1), settings_of(1)}, 1, 1},
      {{key_of(2), settings_of(2)}, 2, 2},
      {{freed, settings_of({})}, 0, 0},
      {{freed, settings_of({})}, 0, 0},
      {{key_of(3), freed, settings_of(3), settings_of({})}, 0, 0},
      {{key_of(4), settings_of(4)}, 4, 4},
      {{key_of(5), freed, settings_of(5), settings_of({})}, 0, 0},
      {{freed, key_of(6), settings_of({}), settings_of(6)}, 6, 6},
  };
  for (const bool flushes : {false, true}) {
    BatchIndex index = 0;
    std::filesystem::remove_all(dir.data_dir());
    for (const Step& step : steps) {
      auto store = open(options_for(dir));
      Batch batch;
      for (const Transition& transition : step.batch) batch.add(transition);
      ++index;
      batch.seal({.epoch = store->opening().epoch, .index = index, .known_durable = index - 1});
      ASSERT_TRUE(store->write(batch, true).ok());
      if (flushes) {
        ASSERT_TRUE(store->flush().ok());
      }
      store.reset();
      store = open(options_for(dir));
      const Result<Image> image = read_image(*store);
      ASSERT_TRUE(image.ok()) << image.status().message();
      ASSERT_EQ(image->keys.size(), step.holder == 0 ? 0U : 1U) << index;
      ASSERT_EQ(image->settings.size(), step.tries == 0 ? 0U : 1U) << index;
      if (step.holder != 0) {
        EXPECT_EQ(image->keys.begin()->second, key_of(step.holder));
        EXPECT_EQ(image->settings.at("t").tries, step.tries);
      }
    }
  }
}

TEST(Store, ABodyStaysForASnapshotThatSawIt) {
  const TempDir dir;
  const auto store = open(options_for(dir));
  put(*store, 1, 1, "hello");
  const Snapshot before = store->snapshot();
  Batch batch;
  batch.add(JobMoved{.id = 1, .before = JobState::Ready, .after = {}, .promised = true});
  batch.seal({.epoch = 1, .index = 2, .known_durable = 1, .now = 6});
  ASSERT_TRUE(store->write(batch, true).ok());
  const Result<Body> body = store->read_body(1, &before);
  ASSERT_TRUE(body.ok()) << body.status().message();
  EXPECT_EQ(body->view(), "hello");
  const Result<Body> gone = store->read_body(1);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.status().code(), StatusCode::NotFound);
}

TEST(Store, ABodyIsInMemoryWhenItWasWrittenOrReadLately) {
  const TempDir dir;
  auto store = open(options_for(dir));
  put(*store, 1, 1, "hello");
  const std::optional<Body> written = store->body_in_memory(1);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->view(), "hello");
  EXPECT_FALSE(store->body_in_memory(2));

  ASSERT_TRUE(store->flush().ok());
  store.reset();
  store = open(options_for(dir));
  EXPECT_FALSE(store->body_in_memory(1));
  ASSERT_TRUE(store->read_body(1).ok());
  const std::optional<Body> read = store->body_in_memory(1);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->view(), "hello");
}

// There are more rows than the scans read ahead, so the scans wait for a free slot when load()
// ends.
TEST(Store, ASinkThatRefusesARowEndsTheLoad) {
  constexpr JobId jobs = 50'000;
  const TempDir dir;
  const auto store = open(options_for(dir));
  Batch batch;
  batch.add(TubeStored{.tube = 0, .name = "default"});
  for (JobId id = 1; id <= jobs; ++id) {
    const JobRow row = {.id = id, .ttr_s = 1};
    batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true});
  }
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store->write(batch, true).ok());
  const Result<Image> image = read_image(*store);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->jobs.size(), jobs);
  JobId taken = 0;
  const Status loaded = store->load(
      {.tube = [](TubeId, std::string_view) { return Status(); },
       .pause = [](const TubePaused&) { return Status(); },
       .settings = [](const SettingsStored&) { return Status(); },
       .job =
           [&](const JobRow&) {
             return ++taken < 5 ? Status() : Status(StatusCode::Unsupported, "no more room");
           },
       .key = [](const KeyStored&) { return Status(); }});
  EXPECT_EQ(loaded.code(), StatusCode::Unsupported);
  EXPECT_EQ(taken, 5U);
}

TEST(Store, TheOpenAndTheLoadAreReported) {
  const TempDir dir;
  std::string events;
  Options options = options_for(dir);
  options.events.info = [&](std::string_view at, std::string_view fields) {
    events += std::string(at) + " " + std::string(fields) + "\n";
  };
  const auto store = open(options);
  put(*store, 1, 1, "hello");
  ASSERT_TRUE(read_image(*store).ok());
  EXPECT_NE(events.find("store.open format=2 epoch=1 index=0 next_id=1 took_ms="), events.npos)
      << events;
  EXPECT_NE(
      events.find("store.load ready=1 reserved=0 delayed=0 buried=0 tubes=1 pauses=0 settings=0 "
                  "keys=0 ended_tubes=0 schedules=0 took_ms="),
      events.npos)
      << events;
}

// No other user may read the files of a queue. RocksDB's own LOG file does not exist, because its
// writer aborts the process on a full disk.
TEST(Store, OnlyTheOwnerMayReadItsFiles) {
  namespace fs = std::filesystem;
  const TempDir dir;
  const auto store = open(options_for(dir));
  const auto others = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(dir.data_dir()).permissions() & others, fs::perms::none);
  for (const auto& entry : fs::recursive_directory_iterator(dir.data_dir())) {
    const fs::file_status status = entry.status();
    // RocksDB's threads may have deleted it meanwhile.
    if (status.type() == fs::file_type::not_found) continue;
    EXPECT_EQ(status.permissions() & others, fs::perms::none) << entry.path();
    EXPECT_NE(entry.path().filename(), "LOG");
  }
}

}  // namespace
}  // namespace perennial::store
