// P8: other programs have filled the disk, and jobs are deleted. The store frees their space, and
// no call waits for ever.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/commit/housekeeper.h"
#include "store/store.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

constexpr uint64_t mib = 1 << 20;
constexpr size_t body_bytes = 64 << 10;
constexpr JobId jobs = 1'000;
// Each round is at least five seconds of a server's life. After 80 flushes RocksDB's default
// Flush() would wait.
constexpr JobId rounds = 100;

uint64_t bytes_in(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code gone;  // RocksDB may delete a file meanwhile.
  for (std::filesystem::recursive_directory_iterator at(path, gone), end; at != end && !gone;
       at.increment(gone)) {
    const uint64_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

// Its free space is what the files in it and those of other programs leave.
class FiniteDisk : public rocksdb::FileSystemWrapper {
 public:
  explicit FiniteDisk(std::string path)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), path_(std::move(path)) {}
  const char* Name() const override { return "perennial.FiniteDisk"; }

  uint64_t free_bytes() const { return capacity - std::min(capacity, taken_ + bytes_in(path_)); }
  // Other programs use all but so many bytes.
  void leave(uint64_t bytes) { taken_ = free_bytes() - bytes; }
  uint64_t least_free_bytes() const { return least_free_bytes_; }

  rocksdb::IOStatus GetFreeSpace(const std::string& /*path*/, const rocksdb::IOOptions& /*options*/,
                                 uint64_t* bytes, rocksdb::IODebugContext* /*debug*/) override {
    const std::lock_guard lock(mutex_);
    *bytes = free_bytes();
    least_free_bytes_ = std::min(least_free_bytes_, *bytes);
    return rocksdb::IOStatus::OK();
  }

 private:
  static constexpr uint64_t capacity = 1024 * mib;

  const std::string path_;
  std::atomic<uint64_t> taken_ = 0;
  std::mutex mutex_;
  uint64_t least_free_bytes_ = capacity;
};

struct FullCase {
  const char* name;
  uint64_t left_bytes;  // Left free by other programs when the deletes begin.
  JobId deleted;
  bool in_order;
  uint64_t given_back_bytes;  // The least that must become free.
};

void PrintTo(const FullCase& full, std::ostream* out) {
  *out << full.name;
}

class FullDisk : public testing::TestWithParam<FullCase> {
 protected:
  void SetUp() override {
    Options options = {.data_dir = dir_.data_dir(), .log_bytes_max = 4 * mib};
    options.compaction_bytes_max = 4 * mib;
    options.low_water_bytes = 32 * mib;
    options.open_bytes_min = mib;
    options.steady_clock = [this] { return now_.load(); };
    options.env = env_.get();
    options.events.fatal = [](const Status& status) { ADD_FAILURE() << status.message(); };
    Result<std::unique_ptr<Store>> store = Store::open(options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
  }

  void write(Batch& batch) {
    ++index_;
    batch.seal({.epoch = 1,
                .index = index_,
                .known_durable = index_ - 1,
                .now = static_cast<Nanos>(index_)});
    ASSERT_TRUE(store_->write(batch, true).ok());
    ASSERT_TRUE(store_->poll_disk_space().ok());
    store_->poll_write_backlog();
  }
  void put_all() {
    std::mt19937_64 random(1);
    for (JobId id = 1; id <= jobs; ++id) {
      Batch batch;
      if (id == 1) batch.add(TubeStored{.tube = 1, .name = "mail"});
      std::string body(body_bytes, '\0');
      for (char& c : body) c = static_cast<char>(random());
      const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = body_bytes};
      batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
      ASSERT_NO_FATAL_FAILURE(write(batch));
    }
  }
  void remove(const JobId* ids, size_t count) {
    Batch batch;
    for (size_t i = 0; i < count; ++i) {
      batch.add(JobMoved{.id = ids[i], .before = JobState::Ready, .after = {}, .promised = true});
    }
    write(batch);
  }

  const TempDir dir_;
  const std::shared_ptr<FiniteDisk> disk_ = std::make_shared<FiniteDisk>(dir_.path());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
  std::atomic<Nanos> now_ = 0;
  BatchIndex index_ = 0;
  std::unique_ptr<Store> store_;
};

TEST_P(FullDisk, DeletesFreeTheirSpace) {
  ASSERT_NO_FATAL_FAILURE(put_all());
  ASSERT_TRUE(store_->flush().ok());
  disk_->leave(GetParam().left_bytes);
  const uint64_t used_before = bytes_in(dir_.path());
  std::vector<JobId> ids(jobs);
  std::iota(ids.begin(), ids.end(), 1);
  if (!GetParam().in_order) std::shuffle(ids.begin(), ids.end(), std::mt19937_64(2));
  Housekeeper housekeeper(*store_);
  for (JobId round = 0; round < rounds; ++round) {
    const JobId done = GetParam().deleted * round / rounds;
    const JobId next = GetParam().deleted * (round + 1) / rounds;
    ASSERT_NO_FATAL_FAILURE(remove(&ids[done], next - done));
    now_ += 6 * nanos_per_second;
    housekeeper.poll(now_);
  }
  // On a slow disk a compaction of before the deletes may still be at work.
  const auto gave_back = [&] {
    return used_before >= bytes_in(dir_.path()) + GetParam().given_back_bytes;
  };
  for (int poll = 0; poll < 300 && !gave_back(); ++poll) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    now_ += 6 * nanos_per_second;
    ASSERT_TRUE(store_->poll_disk_space().ok());
    housekeeper.poll(now_);
  }
  EXPECT_TRUE(gave_back()) << used_before << " before, " << bytes_in(dir_.path()) << " now";
  EXPECT_GE(disk_->least_free_bytes(), mib);
  EXPECT_TRUE(store_->close(jobs + 1).ok());
}

// All bodies together have 62 MiB.
INSTANTIATE_TEST_SUITE_P(Store, FullDisk,
                         testing::Values(FullCase{"AllOfThem", 6 * mib, 1'000, true, 58 * mib},
                                         FullCase{"TheOldest", 6 * mib, 890, true, 45 * mib},
                                         FullCase{"AlmostAll", 6 * mib, 890, false, 45 * mib},
                                         FullCase{"TheOldestOfMany", 6 * mib, 110, true, 4 * mib},
                                         FullCase{"AFewAnywhere", 6 * mib, 110, false, 0},
                                         FullCase{"NothingIsLeft", 3 * mib, 890, true, 45 * mib}),
                         [](const auto& full) { return std::string(full.param.name); });

}  // namespace
}  // namespace perennial::store
