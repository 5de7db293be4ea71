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

// P8: disk is given back.
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

// 20 MB of jobs that compress badly.
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

  void look_with_free(uint64_t bytes) {
    fs_->set_free_bytes(bytes);
    ASSERT_TRUE(store_->look_at_room().ok());
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
  housekeeper.look(1 * nanos_per_second);
  EXPECT_GT(bytes_in(dir_.data_dir()), 10U << 20);
  housekeeper.look(7 * nanos_per_second);
  EXPECT_LT(bytes_in(dir_.data_dir()), 4U << 20);
}

// However far it has come, a compaction that is broken off is no failure.
TEST_F(HousekeeperTest, ACompactionMayBeBrokenOff) {
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

TEST_F(HousekeeperTest, WaitsWhileMuchIsWritten) {
  Housekeeper housekeeper(*store_);
  put_all(*store_, bodies_);
  housekeeper.look(4 * nanos_per_second);
  housekeeper.look(8 * nanos_per_second);
  EXPECT_GT(store_->log_files().bytes, 20U << 20);
  housekeeper.look(10 * nanos_per_second);
  EXPECT_LT(store_->log_files().bytes, 1U << 20);
}

// Else nothing would ever be given back on a disk that is always in use.
TEST_F(HousekeeperTest, WhileRoomIsScarceItDoesNotWait) {
  put_all(*store_, bodies_);
  look_with_free((1 << 30) - 1);
  Housekeeper housekeeper(*store_);
  housekeeper.look(4 * nanos_per_second);
  EXPECT_GT(store_->log_files().bytes, 20U << 20);
  delete_all(*store_);
  housekeeper.look(6 * nanos_per_second);
  EXPECT_LT(bytes_in(dir_.data_dir()), 4U << 20);
}

// A compaction needs room itself. Without that it is stopped, which is no failure, and not tried
// again before anything has changed.
TEST_F(HousekeeperTest, ACompactionWaitsForRoom) {
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  delete_some(*store_, jobs * 3 / 4);
  std::atomic<bool> cancelled = false;
  const uint64_t left_bytes = compactions_leave_bytes(store_->options(), 0);
  look_with_free(left_bytes - 1);
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_GT(bytes_in(dir_.data_dir()), 20U << 20);
  look_with_free(left_bytes + left_bytes / 8);
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_GT(bytes_in(dir_.data_dir()), 20U << 20);
  EXPECT_EQ(held_up_, 1);
  look_with_free(left_bytes + left_bytes / 2);
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_LT(bytes_in(dir_.data_dir()), 10U << 20);
  EXPECT_FALSE(store_->failed());
  EXPECT_TRUE(store_->close(jobs + 1).ok());
}

// Nobody has noticed yet that others fill the disk.
TEST_F(HousekeeperTest, ACompactionIsStoppedWhenTheRoomGoes) {
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

// What writes nothing needs no room, however much it reads: else a full disk of deleted jobs would
// never be given back.
TEST_F(HousekeeperTest, ACompactionOfDeletedJobsDoesNotWait) {
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  delete_all(*store_);
  std::atomic<bool> cancelled = false;
  look_with_free(compactions_leave_bytes(store_->options(), 0) + (1 << 20));
  EXPECT_TRUE(store_->compact_tombstones(cancelled).ok());
  EXPECT_LT(bytes_in(dir_.data_dir()), 4U << 20);
}

TEST_F(HousekeeperTest, AShortLogMayStay) {
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store_->write(batch, true).ok());
  Housekeeper housekeeper(*store_);
  const LogFiles before = store_->log_files();
  housekeeper.look(60 * nanos_per_second);
  EXPECT_EQ(store_->log_files().bytes, before.bytes);
  EXPECT_EQ(store_->log_files().newest_index, before.newest_index);
}

TEST_F(HousekeeperTest, KnowsTheLogFiles) {
  Housekeeper housekeeper(*store_);
  const uint64_t first = housekeeper.log_newest_index();
  EXPECT_GT(first, 0U);
  put_all(*store_, bodies_);
  ASSERT_TRUE(store_->flush().ok());
  housekeeper.look(1);
  EXPECT_GT(housekeeper.log_newest_index(), first);
}

}  // namespace
}  // namespace perennial::store
