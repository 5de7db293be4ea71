#include "store/commit/disk_watch.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

namespace perennial::store {
namespace {

constexpr uint64_t mib = 1 << 20;

// A DiskWatch on a clock and a disk that the test controls.
class DiskWatchTest : public testing::Test {
 protected:
  void open(uint64_t low_water_bytes) {
    Options options;
    options.data_dir = dir_.data_dir();
    options.steady_clock = [this] { return now_; };
    options.log_bytes_max = 4 * mib;
    options.low_water_bytes = low_water_bytes;
    options.env = env_.get();
    fs_->set_free_bytes(2 * low_water_bytes + 1024 * mib);
    Result<std::unique_ptr<Store>> store = Store::open(std::move(options));
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
    watch_ = std::make_unique<DiskWatch>(*store_);
  }

  void write(size_t body_bytes) {
    const std::string body(body_bytes, 'x');
    Batch batch;
    if (next_ == 1) batch.add(TubeStored{.tube = 1, .name = "mail"});
    const JobRow row = {
        .id = next_, .tube = 1, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body_bytes)};
    batch.add(JobMoved{.id = next_, .before = {}, .after = row, .promised = true}, body);
    batch.seal({.epoch = 1, .index = next_, .known_durable = next_ - 1, .now = 1});
    ASSERT_TRUE(store_->write(batch, true).ok());
    ++next_;
  }

  const TempDir dir_;
  const std::shared_ptr<support::FaultFs> fs_ =
      std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(fs_);
  Nanos now_ = 100 * nanos_per_second;
  JobId next_ = 1;
  std::unique_ptr<Store> store_;
  std::unique_ptr<DiskWatch> watch_;
};

TEST_F(DiskWatchTest, APollIsDueOnceASecond) {
  open(0);
  EXPECT_TRUE(watch_->is_due()) << "nobody has looked";
  watch_->poll();
  EXPECT_FALSE(watch_->is_due());
  EXPECT_EQ(watch_->interval(), nanos_per_second);
  now_ += nanos_per_second - 1;
  EXPECT_FALSE(watch_->is_due());
  now_ += 1;
  EXPECT_TRUE(watch_->is_due());
}

// What RocksDB says costs more to read than the free space, which is read more often.
TEST_F(DiskWatchTest, FiguresAreReadOnceASecond) {
  open(0);
  EXPECT_EQ(store_->figures().log_bytes, 0u);
  write(1 * mib);
  watch_->poll();
  const DatabaseFigures first = store_->figures();
  const auto ticker = [](const DatabaseFigures& figures, std::string_view name) {
    const auto& names = DatabaseFigures::ticker_names;
    return figures.tickers.at(static_cast<size_t>(std::ranges::find(names, name) - names.begin()));
  };
  EXPECT_GT(first.log_bytes, 1 * mib);
  EXPECT_GT(ticker(first, "wal_bytes"), 1 * mib);
  EXPECT_GT(ticker(first, "wal_synced"), 0u);
  EXPECT_EQ(first.properties, decltype(first.properties)());  // All is well.
  EXPECT_EQ(first.table_bytes(Family::Bodies), 0u);
  write(4 * mib);
  ASSERT_TRUE(store_->flush().ok());
  now_ += nanos_per_second - 1;
  watch_->poll();
  EXPECT_EQ(store_->figures().tickers, first.tickers);
  now_ += 1;
  watch_->poll();
  const DatabaseFigures second = store_->figures();
  EXPECT_GT(ticker(second, "wal_bytes"), 5 * mib);
  EXPECT_GT(ticker(second, "flush_write_bytes"), 0u);
  EXPECT_GT(second.table_bytes(Family::Bodies), 0u);
  EXPECT_GT(second.table_bytes(Family::Ready), 0u);
  EXPECT_EQ(second.table_bytes(Family::Buried), 0u);
}

TEST_F(DiskWatchTest, APollIsDueSoonerAfterManyBytes) {
  open(0);
  watch_->poll();
  write(3 * mib);
  EXPECT_FALSE(watch_->is_due());
  write(mib);
  EXPECT_TRUE(watch_->is_due());
  watch_->poll();
  EXPECT_FALSE(watch_->is_due());
  EXPECT_FALSE(DiskWatch::is_much(4 * mib - 1));
  EXPECT_TRUE(DiskWatch::is_much(4 * mib));
}

// Otherwise writes could overrun the low-water mark between two polls.
TEST_F(DiskWatchTest, APollIsDueAfterFewerBytesWithALowMark) {
  open(24 * mib);
  watch_->poll();
  write(2 * mib);
  EXPECT_FALSE(watch_->is_due());
  write(mib);
  EXPECT_TRUE(watch_->is_due());
}

TEST_F(DiskWatchTest, PollReturnsWhetherTheStateChanged) {
  open(512 * mib);
  EXPECT_FALSE(watch_->poll());
  EXPECT_EQ(watch_->seen(), DiskSeen());
  fs_->set_free_bytes(512 * mib - 1);
  EXPECT_TRUE(watch_->poll());
  EXPECT_FALSE(watch_->seen().accepts_puts);
  EXPECT_FALSE(watch_->seen().write_stalled);
  EXPECT_EQ(watch_->seen().state, "low-space");
  EXPECT_FALSE(watch_->poll()) << "as it was";
  fs_->set_free_bytes(1024 * mib);
  EXPECT_TRUE(watch_->poll());
  EXPECT_EQ(watch_->seen(), DiskSeen());
}

}  // namespace
}  // namespace perennial::store
