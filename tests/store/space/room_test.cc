#include "store/space/room.h"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <sys/stat.h>

#include "store/commit/local_log.h"
#include "store/store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

namespace perennial::store {
namespace {

constexpr uint64_t mib = 1 << 20;
constexpr uint64_t gib = 1 << 30;

struct DiskCase {
  const char* name;
  uint64_t disk_bytes;
  uint64_t low_water_bytes;
  uint64_t ballast_bytes;
  uint64_t open_bytes_min;
  uint64_t log_bytes_max;
  uint64_t compaction_bytes_max;
};

void PrintTo(const DiskCase& disk, std::ostream* out) {
  *out << disk.name;
}

class FitTest : public testing::TestWithParam<DiskCase> {};

TEST_P(FitTest, SizesFollowTheDisk) {
  const DiskCase& want = GetParam();
  Options options = {.low_water_bytes = derived, .ballast_bytes = derived};
  fit_to_disk(options, want.disk_bytes);
  EXPECT_EQ(options.low_water_bytes, want.low_water_bytes);
  EXPECT_EQ(options.ballast_bytes, want.ballast_bytes);
  EXPECT_EQ(options.open_bytes_min, want.open_bytes_min);
  EXPECT_EQ(options.log_bytes_max, want.log_bytes_max);
  EXPECT_EQ(options.compaction_bytes_max, want.compaction_bytes_max);
  EXPECT_TRUE(check_room(options, want.disk_bytes).ok());
  // A start with nothing free lives on the ballast alone, and rewrites the log there.
  EXPECT_GE(options.ballast_bytes, start_bytes(options, options.log_bytes_max));
  // So does a compaction that removes three quarters of what it reads.
  const uint64_t with_ballast_bytes = compactions_leave_bytes(options, 0);
  EXPECT_GE(options.ballast_bytes, with_ballast_bytes + options.compaction_bytes_max / 4);
  // Until the ballast is given up there is room for one that removes half, beside a whole log.
  if (want.disk_bytes >= 64 * mib) {
    EXPECT_GE(options.low_water_bytes / 2, compactions_leave_bytes(options, options.log_bytes_max) +
                                               options.compaction_bytes_max / 2);
  }
  // What the ballast gives is not for puts.
  const RoomLimits limits = {.low_water_bytes = options.low_water_bytes,
                             .ballast_bytes = options.ballast_bytes};
  EXPECT_TRUE(limits.refuses_puts(true, limits.low_water_bytes / 2 + limits.ballast_bytes));
}

INSTANTIATE_TEST_SUITE_P(
    Room, FitTest,
    testing::Values(
        DiskCase{"Large", 1000 * gib, 640 * mib, 128 * mib, 16 * mib, 64 * mib, 256 * mib},
        DiskCase{"AHundredGiB", 100 * gib, 640 * mib, 128 * mib, 16 * mib, 64 * mib, 256 * mib},
        DiskCase{"TenGiB", 10 * gib, 640 * mib, 128 * mib, 16 * mib, 64 * mib, 256 * mib},
        DiskCase{"EightGiB", 8 * gib, 640 * mib, 128 * mib, 16 * mib, 64 * mib, 256 * mib},
        DiskCase{"ThreeGiB", 3 * gib, 640 * mib, 128 * mib, 12 * mib, 64 * mib, 96 * mib},
        DiskCase{"TwoGiB", 2 * gib, 512 * mib, 128 * mib, 8 * mib, 64 * mib, 64 * mib},
        DiskCase{"OneGiB", 1 * gib, 256 * mib, 128 * mib, 4 * mib, 32 * mib, 32 * mib},
        DiskCase{"HalfAGiB", 512 * mib, 128 * mib, 64 * mib, 2 * mib, 16 * mib, 16 * mib},
        DiskCase{"ThreeHundredMiB", 300 * mib, 75 * mib, 300 * mib / 8, 2 * mib, 300 * mib / 32,
                 300 * mib / 32},
        DiskCase{"Small", 64 * mib, 16 * mib, 8 * mib, 2 * mib, 2 * mib, 2 * mib},
        DiskCase{"Tiny", 32 * mib, 8 * mib, 4 * mib, 2 * mib, 2 * mib, 2 * mib}),
    [](const auto& disk) { return std::string(disk.param.name); });

// The mark follows a longer log, too.
TEST(Fit, ALongLogFits) {
  for (const uint64_t disk_bytes : {2 * gib, 10 * gib, 100 * gib, 1000 * gib}) {
    Options options = {
        .log_bytes_max = 16 * gib, .low_water_bytes = derived, .ballast_bytes = derived};
    fit_to_disk(options, disk_bytes);
    EXPECT_TRUE(check_room(options, disk_bytes).ok());
    EXPECT_GE(options.ballast_bytes, start_bytes(options, options.log_bytes_max));
  }
}

struct MarkCase {
  const char* name;
  uint64_t low_water_bytes;
  uint64_t ballast_bytes;
  const char* want;  // In the message; empty: it works.
};

void PrintTo(const MarkCase& mark, std::ostream* out) {
  *out << mark.name;
}

class MarkTest : public testing::TestWithParam<MarkCase> {};

TEST_P(MarkTest, IsRefusedWhereItCannotWork) {
  Options options = {.low_water_bytes = GetParam().low_water_bytes,
                     .ballast_bytes = GetParam().ballast_bytes};
  fit_to_disk(options, 3 * gib);
  const Status checked = check_room(options, 3 * gib);
  const std::string want = GetParam().want;
  EXPECT_EQ(checked.ok(), want.empty()) << checked.message();
  EXPECT_NE(checked.message().find(want), std::string::npos) << checked.message();
  EXPECT_EQ(checked.code(), want.empty() ? StatusCode::Ok : StatusCode::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    Room, MarkTest,
    testing::Values(MarkCase{"Lowest", 144 * mib, derived, ""},
                    MarkCase{"TooLow", 144 * mib - 1, derived, "must be at least 150994944"},
                    MarkCase{"OneByte", 1, 0, "must be at least 150994944"},
                    MarkCase{"Never", 0, 0, ""}, MarkCase{"Highest", 2048 * mib, 512 * mib, ""},
                    MarkCase{"TooHigh", 2048 * mib, 512 * mib + 1, "are more than the disk has"},
                    MarkCase{"MoreThanTheDisk", 4 * gib, 0, "are more than the disk has"}),
    [](const auto& mark) { return std::string(mark.param.name); });

TEST(Fit, WhatIsSetStays) {
  Options options = {.log_bytes_max = 8 * mib,
                     .compaction_bytes_max = 64 * mib,
                     .low_water_bytes = 5,
                     .ballast_bytes = 0,
                     .open_bytes_min = 7};
  fit_to_disk(options, 1000 * gib);
  EXPECT_EQ(options.log_bytes_max, 8 * mib);
  EXPECT_EQ(options.compaction_bytes_max, 64 * mib);
  EXPECT_EQ(options.low_water_bytes, 5U);
  EXPECT_EQ(options.ballast_bytes, 0U);
  EXPECT_EQ(options.open_bytes_min, 7U);
}

TEST(RoomLimits, KeepTheirDistance) {
  constexpr RoomLimits limits = {.low_water_bytes = 400, .ballast_bytes = 100};
  EXPECT_FALSE(limits.refuses_puts(false, 400));
  EXPECT_TRUE(limits.refuses_puts(false, 399));
  EXPECT_TRUE(limits.refuses_puts(true, 499));
  EXPECT_FALSE(limits.refuses_puts(true, 500));
  EXPECT_FALSE(limits.needs_ballast(200));
  EXPECT_TRUE(limits.needs_ballast(199));
  EXPECT_FALSE(limits.affords_ballast(599));
  EXPECT_TRUE(limits.affords_ballast(600));
}

// Sizes in the tests below.
constexpr uint64_t unit = 1 << 10;

// A store on a disk with as much room as is said.
class RoomTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.data_dir = dir_.data_dir();
    options_.log_bytes_max = 16 * unit;
    options_.low_water_bytes = 400 * unit;
    options_.ballast_bytes = 100 * unit;
    options_.open_bytes_min = 50 * unit;
    options_.env = env_.get();
    options_.events.info = [this](std::string_view at, std::string_view fields) {
      const std::lock_guard lock(mutex_);
      if (at == "store.room" || at == "store.ballast") said_ += std::string(fields) + "\n";
    };
    set_free(1000 * unit);
  }

  void set_free(uint64_t bytes) { fs_->set_free_bytes(bytes); }
  void open() {
    Result<std::unique_ptr<Store>> store = Store::open(options_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
  }
  RoomState look_with(uint64_t free_bytes) {
    set_free(free_bytes);
    EXPECT_TRUE(store_->look_at_room().ok());
    return store_->room();
  }
  // Since the last call.
  std::string said() {
    const std::lock_guard lock(mutex_);
    return std::exchange(said_, "");
  }
  std::string ballast() const { return dir_.data_dir() + "/ballast"; }
  bool has_ballast() const { return std::filesystem::exists(ballast()); }

  const TempDir dir_;
  const std::shared_ptr<support::FaultFs> fs_ =
      std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(fs_);
  Options options_;
  std::atomic<Nanos> now_ = 0;
  std::mutex mutex_;  // Events come from any thread.
  std::string said_;
  std::unique_ptr<Store> store_;
};

TEST_F(RoomTest, EachChangeIsSaidOnce) {
  open();
  EXPECT_EQ(look_with(400 * unit), RoomState::Ok);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(look_with(399 * unit), RoomState::NoBallast);  // None was made yet.
  EXPECT_EQ(said(), "state=no-ballast free_bytes=408576 low_water_bytes=409600\n");
  EXPECT_EQ(look_with(450 * unit), RoomState::NoBallast);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(look_with(500 * unit), RoomState::Ok);
  EXPECT_EQ(said(), "state=ok free_bytes=512000 low_water_bytes=409600\n");
  EXPECT_EQ(look_with(400 * unit), RoomState::Ok);
  EXPECT_EQ(said(), "");
}

TEST_F(RoomTest, TheBallastIsMadeGivenUpAndMadeAgain) {
  open();
  set_free(599 * unit);
  store_->make_ballast();
  EXPECT_FALSE(has_ballast());
  EXPECT_TRUE(store_->is_scarce());
  set_free(600 * unit);
  store_->make_ballast();
  EXPECT_EQ(said(), "made_bytes=102400\n");
  EXPECT_FALSE(store_->is_scarce());
  struct stat made = {};
  ASSERT_EQ(::stat(ballast().c_str(), &made), 0);
  EXPECT_EQ(made.st_size, 100 * unit);
  EXPECT_GT(made.st_blocks, 0);  // Room, and not a hole.
  EXPECT_EQ(made.st_mode & 0777, 0600U);

  EXPECT_EQ(look_with(200 * unit), RoomState::LowSpace);
  EXPECT_TRUE(has_ballast());
  EXPECT_EQ(said(), "state=low-space free_bytes=204800 low_water_bytes=409600\n");
  EXPECT_EQ(look_with(199 * unit), RoomState::NoBallast);
  EXPECT_FALSE(has_ballast());
  EXPECT_EQ(said(),
            "released_bytes=102400\nstate=no-ballast free_bytes=203776 low_water_bytes=409600\n");
  EXPECT_EQ(look_with(600 * unit), RoomState::Ok);
  store_->make_ballast();
  EXPECT_TRUE(has_ballast());
}

TEST_F(RoomTest, ABallastThatCannotBeMadeIsSaidOnceAndTriedAgain) {
  options_.steady_clock = [this] { return now_.load(); };
  open();
  std::filesystem::create_directories(ballast() + "/in the way");
  store_->make_ballast();
  EXPECT_NE(said().find("made_bytes=0 error=\"make "), std::string::npos);
  now_ += 60 * nanos_per_second;
  store_->make_ballast();
  EXPECT_EQ(said(), "");
  EXPECT_FALSE(store_->is_scarce());

  std::filesystem::remove_all(ballast());
  now_ += 60 * nanos_per_second - 1;
  store_->make_ballast();
  EXPECT_EQ(said(), "");
  now_ += 1;
  store_->make_ballast();
  EXPECT_EQ(said(), "made_bytes=102400\n");
  EXPECT_TRUE(has_ballast());
}

TEST_F(RoomTest, AStartGivesUpTheBallastBeforeItIsRefused) {
  open();
  store_->make_ballast();
  store_.reset();
  said();
  set_free(49 * unit);
  const auto refused = Store::open(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::NoSpace);
  EXPECT_NE(refused.status().message().find("50176 bytes are free, and a start needs"),
            std::string::npos)
      << refused.status().message();
  EXPECT_EQ(said(), "released_bytes=102400\n");
  EXPECT_FALSE(has_ballast());
}

// What a crash kept from being complete takes no room once it is cut, and is not replayed.
TEST_F(RoomTest, AStartCutsTheLogBeforeItAsksForRoom) {
  open();
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store_->write(batch, true).ok());
  const std::string db = dir_.data_dir() + "/db/";
  const std::string log = fmt::format("{}{:06}.log", db, store_->log_files().newest_index);
  store_.reset();
  {
    std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(log_end(log)));
    file << std::string(1000 * unit, 'x');
  }
  set_free(600 * unit);
  open();
  EXPECT_EQ(store_->opening().last_index, 1U);
}

TEST_F(RoomTest, AStartNeedsRoomForWhatItReplays) {
  open();
  Batch batch;
  const JobRow row = {.id = 1, .tube = 1, .ttr_s = 1, .body_bytes = 800 * unit};
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  const std::string body(800 * unit, 'x');
  batch.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true}, body);
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store_->write(batch, true).ok());
  store_.reset();
  set_free(1000 * unit);
  const auto refused = Store::open(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::NoSpace);
  set_free(1002 * unit);
  open();
}

// A log that one body has made longer than its bound is still to be written twice.
TEST_F(RoomTest, WhatIsLeftIsAboveTheMark) {
  open();
  EXPECT_EQ(look_with(700 * unit), RoomState::Ok);
  EXPECT_EQ(store_->disk_left().bytes, 300 * unit);
  EXPECT_EQ(store_->disk_left().slack_bytes, 100 * unit);
  Batch batch;
  const JobRow row = {.id = 1, .tube = 1, .ttr_s = 1, .body_bytes = 100 * unit};
  const std::string body(100 * unit, 'x');
  batch.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true}, body);
  batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store_->write(batch, true).ok());
  EXPECT_EQ(look_with(700 * unit), RoomState::Ok);
  EXPECT_LT(store_->disk_left().bytes, (300 - 2 * (100 - 16)) * unit);
  EXPECT_GT(store_->disk_left().bytes, (300 - 2 * (100 - 16) - 2) * unit);
  EXPECT_EQ(look_with(400 * unit), RoomState::Ok);
  EXPECT_EQ(store_->disk_left().bytes, 0U);
}

// Else a start that finds a disk that others have filled, and only the ballast, could not replay
// it.
TEST_F(RoomTest, NearTheMarkPutsWaitWhileTheLogIsLong) {
  open();
  const auto is_behind_with = [this](uint64_t free_bytes) {
    look_with(free_bytes);
    store_->look_at_debt();
    return store_->behind();
  };
  const std::string body(90 * unit, 'x');
  Batch batch;
  batch.add(TubeStored{.tube = 1, .name = "mail"});
  const JobRow row = {
      .id = 1, .tube = 1, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body.size())};
  batch.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true}, body);
  batch.seal({.epoch = store_->opening().epoch, .index = 1, .known_durable = 0, .now = 1});
  ASSERT_TRUE(store_->write(batch, true).ok());
  EXPECT_FALSE(is_behind_with(800 * unit));
  EXPECT_TRUE(is_behind_with(799 * unit));
  ASSERT_TRUE(store_->flush().ok());
  EXPECT_FALSE(is_behind_with(799 * unit));
}

TEST_F(RoomTest, ABallastOfAnotherSizeIsMadeAnew) {
  open();
  store_->make_ballast();
  store_.reset();
  options_.ballast_bytes = 200 * unit;
  open();
  store_->make_ballast();
  EXPECT_EQ(std::filesystem::file_size(ballast()), 200 * unit);
}

// What is low at the start is low from the start.
TEST_F(RoomTest, IsKnownAfterTheOpen) {
  set_free(399 * unit);
  open();
  EXPECT_NE(store_->room(), RoomState::Ok);
  LocalLog log(*store_, [] {});
  const Log::News news = log.collect();
  EXPECT_FALSE(news.store.room);
  EXPECT_EQ(news.store.facts.state, "no-ballast");
}

TEST_F(RoomTest, TheLogWakesTheLoop) {
  open();
  store_->make_ballast();
  std::mutex mutex;
  std::condition_variable changed;
  int wakes = 0;
  LocalLog log(*store_, [&] {
    const std::lock_guard lock(mutex);
    ++wakes;
    changed.notify_all();
  });
  const auto wait_for = [&](int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return wakes >= count; });
  };
  EXPECT_TRUE(log.collect().store.room);
  EXPECT_EQ(log.collect().store.facts.state, "ok");
  // Nothing is written: it looks every second all the same.
  set_free(399 * unit);
  wait_for(1);
  EXPECT_FALSE(log.collect().store.room);
  EXPECT_EQ(log.collect().store.facts.state, "low-space");
  set_free(500 * unit);
  wait_for(2);
  EXPECT_TRUE(log.collect().store.room);
  EXPECT_EQ(log.collect().store.facts.state, "ok");
}

}  // namespace
}  // namespace perennial::store
