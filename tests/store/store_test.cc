#include "store/store.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/store/temp_dir.h"
#include "tests/store/world.h"
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

// Writes batches of the world, then compares.
void write_some(Store& store, World& world, int batches, int transitions) {
  Batch batch;
  for (int i = 0; i < batches; ++i) {
    world.next(batch, transitions);
    ASSERT_TRUE(store.write(batch, i % 3 == 0).ok());
  }
}

TEST(Store, StartsEmpty) {
  const TempDir dir;
  const auto store = open(options_for(dir));
  EXPECT_EQ(store->opening().epoch, 1U);
  EXPECT_EQ(store->opening().last_index, 0U);
  EXPECT_EQ(store->opening().last_now, 0);
  EXPECT_EQ(store->opening().next_id, 1U);
  EXPECT_EQ(difference(*store, Image()), "");
}

TEST(Store, EveryOpenIsAnEpoch) {
  const TempDir dir;
  for (uint64_t epoch = 1; epoch < 4; ++epoch) {
    EXPECT_EQ(open(options_for(dir))->opening().epoch, epoch);
  }
}

// Histories of many batches over several lives of the store, closed cleanly or not.
TEST(Store, HoldsWhatTheModelHolds) {
  for (uint64_t round = 0; round < 4; ++round) {
    const TempDir dir;
    World world(support::seed() + round);
    for (int life = 0; life < 5; ++life) {
      auto store = open(options_for(dir));
      ASSERT_EQ(difference(*store, world.image()), "") << "round " << round << " life " << life;
      ASSERT_EQ(store->opening().last_index, world.index());
      ASSERT_EQ(store->opening().last_now, world.index() == 0 ? 0 : world.now());
      ASSERT_GE(store->opening().next_id, world.next_id());
      world.reopened(store->opening());
      write_some(*store, world, 60, 1 << (2 * life));
      ASSERT_EQ(difference(*store, world.image()), "");
      if (life % 2 == 0) {
        ASSERT_TRUE(store->close(world.next_id()).ok());
      }
    }
  }
}

// With everything flushed and compacted in between, so that tables and tombstones meet.
TEST(Store, HoldsWhatTheModelHoldsThroughCompactions) {
  const TempDir dir;
  World world(support::seed());
  auto store = open(options_for(dir));
  std::atomic<bool> cancelled = false;
  for (int round = 0; round < 12; ++round) {
    write_some(*store, world, 20, 100);
    ASSERT_TRUE(store->flush().ok());
    if (round % 4 == 3) {
      ASSERT_TRUE(store->compact_tombstones(cancelled, 0).ok());
    }
    ASSERT_EQ(difference(*store, world.image()), "") << "round " << round;
  }
}

TEST(Store, SkipsABatchThatItHasAlready) {
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

// As where somebody else goes on with the history, and this store applies it.
TEST(Store, ABatchMayBeOfALaterEpoch) {
  const TempDir dir;
  {
    const auto store = open(options_for(dir));
    ASSERT_TRUE(store->write(raising(10, {.epoch = 1, .index = 1}), false).ok());
    EXPECT_EQ(store->applied(), 1U);
    EXPECT_EQ(store->durable(), 0U);
    ASSERT_TRUE(store->write(raising(20, {.epoch = 5, .index = 2}), false).ok());
    EXPECT_EQ(store->applied(), 2U);
    EXPECT_EQ(store->durable(), 1U);  // All before its epoch.
    ASSERT_TRUE(store->write(raising(30, {.epoch = 5, .index = 3}), true).ok());
    EXPECT_EQ(store->durable(), 3U);
  }
  const auto store = open(options_for(dir));
  EXPECT_EQ(store->opening().epoch, 6U);
  EXPECT_EQ(store->opening().last_index, 3U);
  EXPECT_EQ(store->opening().next_id, 30U);
  // What is in is skipped, whatever its epoch.
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

// More rows than the scans hold ahead, so that they are waiting for room when it ends.
TEST(Store, TheSinkMayRefuse) {
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
       .job =
           [&](const JobRow&) {
             return ++taken < 5 ? Status() : Status(StatusCode::Unsupported, "no more room");
           }});
  EXPECT_EQ(loaded.code(), StatusCode::Unsupported);
  EXPECT_EQ(taken, 5U);
}

TEST(Store, ReportsWhatItFound) {
  const TempDir dir;
  std::string said;
  Options options = options_for(dir);
  options.events.info = [&](std::string_view at, std::string_view fields) {
    said += std::string(at) + " " + std::string(fields) + "\n";
  };
  const auto store = open(options);
  put(*store, 1, 1, "hello");
  ASSERT_TRUE(read_image(*store).ok());
  EXPECT_NE(said.find("store.open format=1 epoch=1 index=0 next_id=1 took_ms="), said.npos) << said;
  EXPECT_NE(said.find("store.load ready=1 reserved=0 delayed=0 buried=0 tubes=1 pauses=0 took_ms="),
            said.npos)
      << said;
}

// Nobody else may read what is in a queue; and RocksDB's own log, whose writer ends the process on
// a full disk, is not there.
TEST(Store, ItsFilesAreItsOwn) {
  namespace fs = std::filesystem;
  const TempDir dir;
  const auto store = open(options_for(dir));
  const auto others = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(dir.data_dir()).permissions() & others, fs::perms::none);
  for (const auto& entry : fs::recursive_directory_iterator(dir.data_dir())) {
    EXPECT_EQ(entry.status().permissions() & others, fs::perms::none) << entry.path();
    EXPECT_NE(entry.path().filename(), "LOG");
  }
}

}  // namespace
}  // namespace perennial::store
