#include "store/space/disk_space.h"

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
  EXPECT_TRUE(check_space_options(options, Space{.bytes = want.disk_bytes}).ok());
  // If nothing else is free, the ballast is large enough for a start that writes the log to tables.
  EXPECT_GE(options.ballast_bytes, start_bytes(options, options.log_bytes_max));
  // It is also large enough for a compaction that removes three quarters of what it reads.
  const uint64_t with_ballast_bytes = compactions_leave_bytes(options, 0);
  EXPECT_GE(options.ballast_bytes, with_ballast_bytes + options.compaction_bytes_max / 4);
  // While the ballast exists, a compaction that removes half can end, beside a whole log.
  if (want.disk_bytes >= 64 * mib) {
    EXPECT_GE(options.low_water_bytes / 2, compactions_leave_bytes(options, options.log_bytes_max) +
                                               options.compaction_bytes_max / 2);
  }
  // Removing the ballast does not make the store accept puts again.
  const SpaceLimits limits = {.low_water_bytes = options.low_water_bytes,
                              .ballast_bytes = options.ballast_bytes};
  EXPECT_TRUE(
      limits.refuses_puts(true, Space{.bytes = limits.low_water_bytes / 2 + limits.ballast_bytes}));
}

INSTANTIATE_TEST_SUITE_P(
    DiskSpace, FitTest,
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

// The low-water mark also rises with a configured log bound.
TEST(Fit, TheMarkFollowsALongLog) {
  for (const uint64_t disk_bytes : {2 * gib, 10 * gib, 100 * gib, 1000 * gib}) {
    Options options = {
        .log_bytes_max = 16 * gib, .low_water_bytes = derived, .ballast_bytes = derived};
    fit_to_disk(options, disk_bytes);
    EXPECT_TRUE(check_space_options(options, Space{.bytes = disk_bytes}).ok());
    EXPECT_GE(options.ballast_bytes, start_bytes(options, options.log_bytes_max));
  }
}

struct MarkCase {
  const char* name;
  uint64_t low_water_bytes;
  uint64_t ballast_bytes;
  const char* want;  // A part of the message; empty if the mark is accepted.
};

void PrintTo(const MarkCase& mark, std::ostream* out) {
  *out << mark.name;
}

class MarkTest : public testing::TestWithParam<MarkCase> {};

TEST_P(MarkTest, AMarkThatCannotWorkIsRefused) {
  Options options = {.low_water_bytes = GetParam().low_water_bytes,
                     .ballast_bytes = GetParam().ballast_bytes};
  fit_to_disk(options, 3 * gib);
  const Status checked = check_space_options(options, Space{.bytes = 3 * gib});
  const std::string want = GetParam().want;
  EXPECT_EQ(checked.ok(), want.empty()) << checked.message();
  EXPECT_NE(checked.message().find(want), std::string::npos) << checked.message();
  EXPECT_EQ(checked.code(), want.empty() ? StatusCode::Ok : StatusCode::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    DiskSpace, MarkTest,
    testing::Values(MarkCase{"Lowest", 144 * mib, derived, ""},
                    MarkCase{"TooLow", 144 * mib - 1, derived, "must be at least 150994944"},
                    MarkCase{"OneByte", 1, 0, "must be at least 150994944"},
                    MarkCase{"Never", 0, 0, ""}, MarkCase{"Highest", 2048 * mib, 512 * mib, ""},
                    MarkCase{"TooHigh", 2048 * mib, 512 * mib + 1, "are more than the disk has"},
                    MarkCase{"MoreThanTheDisk", 4 * gib, 0, "are more than the disk has"}),
    [](const auto& mark) { return std::string(mark.param.name); });

TEST(Fit, ConfiguredSizesStay) {
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

TEST(SpaceLimits, PutsAreAcceptedAgainOnlyAboveTheMark) {
  constexpr SpaceLimits limits = {.low_water_bytes = 400, .ballast_bytes = 100};
  EXPECT_FALSE(limits.refuses_puts(false, Space{.bytes = 400}));
  EXPECT_TRUE(limits.refuses_puts(false, Space{.bytes = 399}));
  EXPECT_TRUE(limits.refuses_puts(true, Space{.bytes = 499}));
  EXPECT_FALSE(limits.refuses_puts(true, Space{.bytes = 500}));
  EXPECT_FALSE(limits.needs_ballast(200));
  EXPECT_TRUE(limits.needs_ballast(199));
  EXPECT_FALSE(limits.must_shorten(800, 81));
  EXPECT_FALSE(limits.must_shorten(799, 80));
  EXPECT_TRUE(limits.must_shorten(799, 81));
  EXPECT_FALSE(limits.affords_ballast(Space{.bytes = 599}));
  EXPECT_TRUE(limits.affords_ballast(Space{.bytes = 600}));
}

// Files count as bytes do.
TEST(SpaceLimits, TooFewFilesRefusePutsAndTheBallast) {
  constexpr SpaceLimits limits = {
      .low_water_bytes = 400, .ballast_bytes = 100, .low_water_files = 80};
  EXPECT_FALSE(limits.refuses_puts(false, {.bytes = 600, .files = 80}));
  EXPECT_TRUE(limits.refuses_puts(false, {.bytes = 600, .files = 79}));
  EXPECT_TRUE(limits.refuses_puts(true, {.bytes = 600, .files = 99}));
  EXPECT_FALSE(limits.refuses_puts(true, {.bytes = 600, .files = 100}));
  EXPECT_TRUE(limits.refuses_puts(false, {.bytes = 399, .files = 1000}));
  EXPECT_FALSE(limits.affords_ballast({.bytes = 600, .files = 100}));
  EXPECT_TRUE(limits.affords_ballast({.bytes = 600, .files = 101}));
}

TEST(Fit, TheMarksOfFilesFitWhatTheDiskCanHold) {
  const auto fitted = [](uint64_t disk_files) {
    Options options;
    options.low_water_files = derived;
    fit_to_disk(options, 100ULL << 30, disk_files);
    return options;
  };
  EXPECT_EQ(fitted(unlimited_files).low_water_files, 1000u);
  EXPECT_EQ(fitted(1'000'000).low_water_files, 1000u);
  EXPECT_EQ(fitted(1'000'000).open_files_min, 32u);
  EXPECT_EQ(fitted(200).low_water_files, 50u);
  EXPECT_EQ(fitted(200).open_files_min, 25u);
  Options high;
  high.low_water_files = 801;
  EXPECT_FALSE(check_space_options(high, {.bytes = 1 << 30, .files = 1000}).ok());
  high.low_water_files = 800;
  EXPECT_TRUE(check_space_options(high, {.bytes = 1 << 30, .files = 1000}).ok());
}

// The unit of the sizes in the tests below.
constexpr uint64_t unit = 1 << 10;

// A store on a disk whose free space the test sets.
class DiskSpaceTest : public testing::Test {
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
      if (at == "store.space" || at == "store.ballast") events_ += std::string(fields) + "\n";
    };
    set_free(1000 * unit);
  }

  void set_free(uint64_t bytes) { fs_->set_free_bytes(bytes); }
  void open() {
    Result<std::unique_ptr<Store>> store = Store::open(options_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
  }
  // The first batch, with one job.
  void put(uint32_t body_bytes) {
    const std::string body(body_bytes, 'x');
    const JobRow row = {.id = 1, .tube = 1, .ttr_s = 1, .body_bytes = body_bytes};
    Batch batch;
    batch.add(TubeStored{.tube = 1, .name = "mail"});
    batch.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true}, body);
    batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 1});
    ASSERT_TRUE(store_->write(batch, true).ok());
  }
  SpaceState poll_with(uint64_t free_bytes) {
    set_free(free_bytes);
    EXPECT_TRUE(store_->poll_disk_space().ok());
    return store_->space_state();
  }
  // Returns the events since the last call.
  std::string take_events() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, "");
  }
  std::string ballast() const { return dir_.data_dir() + "/ballast"; }
  bool has_ballast() const { return std::filesystem::exists(ballast()); }

  const TempDir dir_;
  const std::shared_ptr<support::FaultFs> fs_ =
      std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(fs_);
  Options options_;
  std::atomic<Nanos> now_ = 0;
  std::mutex mutex_;  // Any thread may send events.
  std::string events_;
  std::unique_ptr<Store> store_;
};

TEST_F(DiskSpaceTest, EachChangeIsReportedOnce) {
  open();
  EXPECT_EQ(poll_with(400 * unit), SpaceState::Ok);
  EXPECT_EQ(take_events(), "");
  EXPECT_EQ(poll_with(399 * unit), SpaceState::NoBallast);  // No ballast was made yet.
  EXPECT_EQ(take_events(), "state=no-ballast free_bytes=408576 low_water_bytes=409600\n");
  EXPECT_EQ(poll_with(450 * unit), SpaceState::NoBallast);
  EXPECT_EQ(take_events(), "");
  EXPECT_EQ(poll_with(500 * unit), SpaceState::Ok);
  EXPECT_EQ(take_events(), "state=ok free_bytes=512000 low_water_bytes=409600\n");
  EXPECT_EQ(poll_with(400 * unit), SpaceState::Ok);
  EXPECT_EQ(take_events(), "");
}

TEST_F(DiskSpaceTest, TheBallastIsMadeRemovedAndMadeAgain) {
  open();
  set_free(599 * unit);
  store_->make_ballast();
  EXPECT_FALSE(has_ballast());
  EXPECT_TRUE(store_->is_scarce());
  set_free(600 * unit);
  store_->make_ballast();
  EXPECT_EQ(take_events(), "made_bytes=102400\n");
  EXPECT_FALSE(store_->is_scarce());
  struct stat made = {};
  ASSERT_EQ(::stat(ballast().c_str(), &made), 0);
  EXPECT_EQ(made.st_size, 100 * unit);
  EXPECT_GT(made.st_blocks, 0);  // It takes space on the disk and is not sparse.
  EXPECT_EQ(made.st_mode & 0777, 0600U);

  EXPECT_EQ(poll_with(200 * unit), SpaceState::LowSpace);
  EXPECT_TRUE(has_ballast());
  EXPECT_EQ(take_events(), "state=low-space free_bytes=204800 low_water_bytes=409600\n");
  EXPECT_EQ(poll_with(199 * unit), SpaceState::NoBallast);
  EXPECT_FALSE(has_ballast());
  EXPECT_EQ(take_events(),
            "released_bytes=102400\nstate=no-ballast free_bytes=203776 low_water_bytes=409600\n");
  EXPECT_EQ(poll_with(600 * unit), SpaceState::Ok);
  store_->make_ballast();
  EXPECT_TRUE(has_ballast());
}

TEST_F(DiskSpaceTest, ABallastThatCannotBeMadeIsReportedOnceAndTriedAgain) {
  options_.steady_clock = [this] { return now_.load(); };
  open();
  std::filesystem::create_directories(ballast() + "/in the way");
  store_->make_ballast();
  EXPECT_NE(take_events().find("made_bytes=0 error=\"make "), std::string::npos);
  now_ += 60 * nanos_per_second;
  store_->make_ballast();
  EXPECT_EQ(take_events(), "");
  EXPECT_FALSE(store_->is_scarce());

  std::filesystem::remove_all(ballast());
  now_ += 60 * nanos_per_second - 1;
  store_->make_ballast();
  EXPECT_EQ(take_events(), "");
  now_ += 1;
  store_->make_ballast();
  EXPECT_EQ(take_events(), "made_bytes=102400\n");
  EXPECT_TRUE(has_ballast());
}

// A value of logfmt is one value, whatever the path has.
TEST_F(DiskSpaceTest, AnEventQuotesThePathThatItNames) {
  options_.data_dir = dir_.path() + "/a \"b\" error=none";
  open();
  std::filesystem::create_directories(options_.data_dir + "/ballast/in the way");
  store_->make_ballast();
  const std::string event = take_events();
  EXPECT_NE(event.find("/a \\\"b\\\" error=none/ballast"), std::string::npos) << event;
}

TEST_F(DiskSpaceTest, AStartRemovesTheBallastBeforeItIsRefused) {
  open();
  store_->make_ballast();
  store_.reset();
  take_events();
  set_free(49 * unit);
  const auto refused = Store::open(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::NoSpace);
  EXPECT_NE(refused.status().message().find("50176 bytes are free, and a start needs"),
            std::string::npos)
      << refused.status().message();
  EXPECT_EQ(take_events(), "released_bytes=102400\n");
  EXPECT_FALSE(has_ballast());
}

// The incomplete end of a log needs no space, because a start truncates it and does not replay it.
TEST_F(DiskSpaceTest, AStartTruncatesTheLogBeforeItChecksTheSpace) {
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

TEST_F(DiskSpaceTest, AStartNeedsSpaceForTheLogItReplays) {
  open();
  ASSERT_NO_FATAL_FAILURE(put(800 * unit));
  store_.reset();
  set_free(1000 * unit);
  const auto refused = Store::open(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::NoSpace);
  set_free(1002 * unit);
  open();
}

// The bytes of a log above its bound are still to be written twice.
TEST_F(DiskSpaceTest, PutsMayUseOnlyTheSpaceAboveTheMark) {
  open();
  EXPECT_EQ(poll_with(700 * unit), SpaceState::Ok);
  EXPECT_EQ(store_->disk_left().bytes, 300 * unit);
  EXPECT_EQ(store_->disk_left().slack_bytes, 100 * unit);
  ASSERT_NO_FATAL_FAILURE(put(100 * unit));
  EXPECT_EQ(poll_with(700 * unit), SpaceState::Ok);
  EXPECT_LT(store_->disk_left().bytes, (300 - 2 * (100 - 16)) * unit);
  EXPECT_GT(store_->disk_left().bytes, (300 - 2 * (100 - 16) - 2) * unit);
  EXPECT_EQ(poll_with(400 * unit), SpaceState::Ok);
  EXPECT_EQ(store_->disk_left().bytes, 0U);
}

// If other programs then fill the disk, a start that has only the ballast could not replay a longer
// log.
TEST_F(DiskSpaceTest, PutsNearTheMarkWaitWhileTheLogIsLong) {
  open();
  const auto is_behind_with = [this](uint64_t free_bytes) {
    poll_with(free_bytes);
    store_->poll_write_backlog();
    return store_->write_stalled();
  };
  ASSERT_NO_FATAL_FAILURE(put(90 * unit));
  EXPECT_FALSE(is_behind_with(800 * unit));
  EXPECT_TRUE(is_behind_with(799 * unit));
  ASSERT_TRUE(store_->flush().ok());
  EXPECT_FALSE(is_behind_with(799 * unit));
}

TEST_F(DiskSpaceTest, ABallastOfAnotherSizeIsReplaced) {
  open();
  store_->make_ballast();
  store_.reset();
  options_.ballast_bytes = 200 * unit;
  open();
  store_->make_ballast();
  EXPECT_EQ(std::filesystem::file_size(ballast()), 200 * unit);
}

// A store on a disk that is low on space knows that before it serves.
TEST_F(DiskSpaceTest, TheStateIsKnownAfterTheOpen) {
  set_free(399 * unit);
  open();
  EXPECT_NE(store_->space_state(), SpaceState::Ok);
  LocalLog log(*store_, [] {});
  const Log::Update update = log.collect();
  EXPECT_FALSE(update.store.accepts_puts);
  EXPECT_EQ(update.store.facts.state, "no-ballast");
}

TEST_F(DiskSpaceTest, AChangeMakesTheLogWakeTheLoop) {
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
  EXPECT_TRUE(log.collect().store.accepts_puts);
  EXPECT_EQ(log.collect().store.facts.state, "ok");
  // The log polls the disk every second, although nothing is written.
  set_free(399 * unit);
  wait_for(1);
  EXPECT_FALSE(log.collect().store.accepts_puts);
  EXPECT_EQ(log.collect().store.facts.state, "low-space");
  set_free(500 * unit);
  wait_for(2);
  EXPECT_TRUE(log.collect().store.accepts_puts);
  EXPECT_EQ(log.collect().store.facts.state, "ok");
}

}  // namespace
}  // namespace perennial::store
