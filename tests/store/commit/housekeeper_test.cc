#include "store/commit/housekeeper.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

// P8: the server frees disk space after jobs are deleted.
namespace perennial::store {
namespace {

constexpr JobId jobs = 20'000;
constexpr size_t body_bytes = 1000;

uint64_t bytes_in(const std::string& path) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

std::string noise(size_t words) {
  std::mt19937_64 random(1);
  std::string bytes;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = random();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return bytes;
}

// Puts 20 MB of jobs whose bodies do not compress.
void put_all(Store& store, const std::string& bodies) {
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  for (JobId id = 1; id <= jobs; ++id) {
    const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = body_bytes};
    batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true},
              std::string_view(bodies).substr((id - 1) * body_bytes, body_bytes));
  }
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store.write(batch, true).ok());
}

void delete_some(Store& store, JobId last) {
  Batch batch;
  for (JobId id = 1; id <= last; ++id) {
    batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
  }
  batch.seal({.epoch = 1, .index = 2, .known_durable = 1, .now = 2});
  ASSERT_TRUE(store.write(batch, true).ok());
}

void delete_all(Store& store) {
  delete_some(store, jobs);
}

class HousekeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    Options options = {.data_dir = dir_.data_dir()};
    options.steady_clock = [] { return Nanos{0}; };
    options.low_water_bytes = 1 << 30;
    options.env = env_.get();
    options.events.info = [this](std::string_view at, std::string_view fields) {
      const bool is_held_up = fields.find("held_up") != std::string_view::npos;
      if (at == "store.compact" && is_held_up) ++held_up_;
    };
    fs_->set_free_bytes(2ULL << 30);
    Result<std::unique_ptr<Store>> store = Store::open(options);
    ASSERT_TRUE(store.ok());
    store_ = store.take();
  }

  void poll_with_free(uint64_t bytes) {
    fs_->set_free_bytes(bytes);
    ASSERT_TRUE(store_->poll_disk_space().ok());
  }

  const TempDir dir_;
  const std::shared_ptr<support::FaultFs> fs_ =
      std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(fs_);
  const std::string bodies_ = noise(jobs * body_bytes / 8);
  std::atomic<int> held_up_ = 0;
  std::unique_ptr<Store> store_;
};

TEST_F(HousekeeperTest, ADrainedQueueShrinks) {
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  delete_all(*store_);
  Housekeeper housekeeper(*store_);
  housekeeper.poll(1 * nanos_per_second);
  EXPECT_GT(bytes_in(dir_.data_dir()), 10U << 20);
  housekeeper.poll(7 * nanos_per_second);
  EXPECT_LT(bytes_in(dir_.data_dir()), 4U << 20);
}

// Keys that were stored, overwritten by a cooldown and freed leave nothing behind.
TEST_F(HousekeeperTest, FreedKeysGiveTheirSpaceBack) {
  const std::string tube(200, 't');
  const auto write = [&](BatchIndex index, const auto& transition_of) {
    Batch batch;
    for (JobId id = 1; id <= jobs; ++id) batch.add(transition_of(std::to_string(id)));
    batch.seal({.epoch = 1, .index = index, .known_durable = index - 1, .now = 1});
    ASSERT_TRUE(store_->write(batch, true).ok());
    ASSERT_TRUE(store_->flush().ok());
  };
  const auto stored = [&](Nanos expires_at) {
    return [&tube, expires_at](const std::string& key) {
      return KeyStored{
          .tube = tube, .key = key, .job = 1, .until = KeyUntil::Deleted, .expires_at = expires_at};
    };
  };
  write(1, stored(0));
  write(2, stored(1));
  // A live family is not compacted for a few freed keys.
  std::atomic<bool> cancelled = false;
  ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
  EXPECT_GT(bytes_in(dir_.data_dir()), jobs * 40);
  write(3, [&](const std::string& key) { return KeyFreed{.tube = tube, .key = key}; });
  ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
  EXPECT_LT(bytes_in(dir_.data_dir()), 1U << 20);
}

// A compaction that is cancelled at any point is not a failure of the store.
TEST_F(HousekeeperTest, ACancelledCompactionIsNoFailure) {
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  delete_all(*store_);
  std::atomic<bool> cancelled = false;
  Status compacted;
  std::thread compaction([&] { compacted = store_->compact_tombstones(cancelled); });
  cancelled = true;
  compaction.join();
  EXPECT_TRUE(compacted.ok()) << compacted.message();
  EXPECT_FALSE(store_->failed());
  EXPECT_TRUE(store_->close(jobs + 1).ok());
}

TEST_F(HousekeeperTest, NothingIsFlushedWhileManyBytesAreWritten) {
  Housekeeper housekeeper(*store_);
  put_all(*store_, bodies_);
  housekeeper.poll(4 * nanos_per_second);
  housekeeper.poll(8 * nanos_per_second);
  EXPECT_GT(store_->log_files().bytes, 20U << 20);
  housekeeper.poll(10 * nanos_per_second);
  EXPECT_LT(store_->log_files().bytes, 1U << 20);
}

// Otherwise a server that always writes would never free disk space.
TEST_F(HousekeeperTest, WhileSpaceIsScarceItDoesNotWait) {
  put_all(*store_, bodies_);
  poll_with_free((1 << 30) - 1);
  Housekeeper housekeeper(*store_);
  housekeeper.poll(4 * nanos_per_second);
  EXPECT_GT(store_->log_files().bytes, 20U << 20);
  delete_all(*store_);
  housekeeper.poll(6 * nanos_per_second);
  EXPECT_LT(bytes_in(dir_.data_dir()), 4U << 20);
}

// A compaction needs free space itself. Without that it is stopped, which is not a failure, and is
// not tried again until more space is free.
TEST_F(HousekeeperTest, ACompactionWaitsForFreeSpace) {
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  delete_some(*store_, jobs * 3 / 4);
  std::atomic<bool> cancelled = false;
  const uint64_t left_bytes = compactions_leave_bytes(store_->options(), 0);
  poll_with_free(left_bytes - 1);
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_GT(bytes_in(dir_.data_dir()), 20U << 20);
  poll_with_free(left_bytes + left_bytes / 8);
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_GT(bytes_in(dir_.data_dir()), 20U << 20);
  EXPECT_EQ(held_up_, 1);
  poll_with_free(left_bytes + left_bytes / 2);
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_LT(bytes_in(dir_.data_dir()), 10U << 20);
  EXPECT_FALSE(store_->failed());
  EXPECT_TRUE(store_->close(jobs + 1).ok());
}

// Another program fills the disk, and the store has not polled the free space since.
TEST_F(HousekeeperTest, ACompactionStopsWhenTheDiskFills) {
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  delete_some(*store_, jobs * 3 / 4);
  ASSERT_FALSE(store_->is_scarce());
  fs_->set_free_bytes(compactions_leave_bytes(store_->options(), 0) - 1);
  std::atomic<bool> cancelled = false;
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_GT(bytes_in(dir_.data_dir()), 20U << 20);
  EXPECT_FALSE(store_->failed());
  EXPECT_TRUE(store_->close(jobs + 1).ok());
}

// A compaction that drops all that it reads writes nothing and needs no free space. If it waited, a
// disk full of deleted jobs would never be freed.
TEST_F(HousekeeperTest, ACompactionOfDeletedJobsDoesNotWait) {
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  delete_all(*store_);
  std::atomic<bool> cancelled = false;
  poll_with_free(compactions_leave_bytes(store_->options(), 0) + (1 << 20));
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_LT(bytes_in(dir_.data_dir()), 4U << 20);
}

TEST_F(HousekeeperTest, AShortLogIsNotFlushed) {
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store_->write(batch, true).ok());
  Housekeeper housekeeper(*store_);
  const LogFiles before = store_->log_files();
  housekeeper.poll(60 * nanos_per_second);
  // A flush begins a new file. Bytes say nothing: RocksDB may still be deleting the file of the
  // open.
  EXPECT_EQ(store_->log_files().newest_index, before.newest_index);
}

TEST_F(HousekeeperTest, KnowsTheLogFiles) {
  Housekeeper housekeeper(*store_);
  const uint64_t first = housekeeper.log_newest_index();
  EXPECT_GT(first, 0U);
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  housekeeper.poll(1);
  EXPECT_GT(housekeeper.log_newest_index(), first);
}

}  // namespace
}  // namespace perennial::store
