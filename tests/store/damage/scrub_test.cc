#include "store/damage/scrub.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "store/store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/bad_sectors.h"

// Damage of tables that nobody reads is found while the store is open. The load is 1,500 jobs with
// bodies of 200 bytes, some with a note, and one that has ended, in tables of level 0; time is what
// the test says. It is blind to other levels, and to the pages that the kernel keeps, since the
// damage is made through them.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr JobId jobs = 1500;
constexpr JobId jobs_with_notes = 20;  // The first ones.
constexpr Nanos second = nanos_per_second;

class ScrubTest : public testing::Test {
 protected:
  ScrubTest()
      : disk_(std::make_shared<support::BadSectors>(rocksdb::FileSystem::Default())),
        env_(rocksdb::NewCompositeEnv(disk_)) {}
  ~ScrubTest() override { store_.reset(); }

  void open(uint64_t bytes_per_second) {
    Options options;
    options.data_dir = dir_.data_dir();
    options.env = env_.get();
    options.scrub_bytes_per_second = bytes_per_second;
    options.events.info = [this](std::string_view at, std::string_view fields) {
      const std::lock_guard lock(mutex_);
      events_ += std::string(at) + " " + std::string(fields) + "\n";
    };
    options.events.fatal = [](const Status& status) { ADD_FAILURE() << status.message(); };
    Result<std::unique_ptr<Store>> opened = Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
  }

  // Tables of all families.
  void make(uint64_t bytes_per_second) {
    open(bytes_per_second);
    Batch batch;
    batch.add(TubeStored{.tube = 0, .name = "default"});
    std::mt19937_64 random(7);
    std::string bodies(jobs * 200, '\0');  // They cannot be compressed.
    for (char& c : bodies) c = static_cast<char>(random());
    for (JobId id = 1; id <= jobs; ++id) {
      JobRow row = {.id = id, .ttr_s = 1, .body_bytes = 200};
      if (id <= jobs_with_notes) row.fields = JobFields{.notes = 1};
      batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true},
                std::string_view(bodies).substr((id - 1) * 200, 200));
      if (row.fields) batch.add(NoteStored{.job = id, .note = {.number = 1, .text = "why"}});
    }
    const JobRow last = {.id = jobs + 1, .ttr_s = 1};
    batch.add(JobMoved{.id = last.id, .before = {}, .after = last, .promised = true});
    batch.add(JobMoved{.id = last.id, .before = JobState::Ready, .after = {}, .promised = true});
    batch.add(JobEnded{.job = EndedJob{.row = last, .tube = "default", .place = 1},
                       .span = {.first = 1, .next = 2}});
    batch.seal({.epoch = store_->opening().epoch, .index = 1, .known_durable = 0, .now = 5});
    ASSERT_TRUE(store_->write(batch, false).ok());
    ASSERT_TRUE(store_->flush().ok());
  }

  std::string table_of(std::string_view family) const {
    for (const auto& entry : fs::directory_iterator(dir_.data_dir() + "/db")) {
      rocksdb::SstFileReader reader{rocksdb::Options()};
      if (entry.path().extension() != ".sst" || !reader.Open(entry.path()).ok()) continue;
      if (reader.GetTableProperties()->column_family_name == family) return entry.path();
    }
    ADD_FAILURE() << "no table of " << family;
    return {};
  }

  // Seconds pass until a pass is over.
  void scrub(uint64_t passes) {
    for (int i = 0; i < 1000 && store_->scrub_figures().passes < passes; ++i) {
      store_->scrub(now_);
      now_ += second;
    }
    ASSERT_EQ(store_->scrub_figures().passes, passes);
  }

  std::string events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  TempDir dir_;
  std::shared_ptr<support::BadSectors> disk_;
  std::unique_ptr<rocksdb::Env> env_;
  std::mutex mutex_;
  std::string events_;
  Nanos now_ = 7 * second;
  std::unique_ptr<Store> store_;
};

TEST_F(ScrubTest, WhatIsWholeHasNoDamage) {
  make(64 << 20);
  scrub(1);
  EXPECT_EQ(store_->damage(), "");
  EXPECT_THAT(store_->damaged_rows(), IsEmpty());
  EXPECT_GT(store_->scrub_figures().bytes, jobs * 200);
}

TEST_F(ScrubTest, APassBeginsOnceAMinute) {
  make(64 << 20);
  scrub(1);
  const Nanos begun = now_;
  scrub(2);
  EXPECT_GE(now_ - begun, Scrub::pass_interval - second);
  EXPECT_LE(now_ - begun, Scrub::pass_interval + 2 * second);
}

TEST_F(ScrubTest, ASecondReadsWhatTheSettingSays) {
  make(50'000);
  const Nanos begun = now_;
  scrub(1);
  const uint64_t bytes = store_->scrub_figures().bytes;
  const auto seconds = static_cast<uint64_t>((now_ - begun) / second);
  EXPECT_LE(bytes, seconds * (50'000 + 20'000)) << "a block more at most";
  EXPECT_GE(seconds, 5U);
}

TEST_F(ScrubTest, NothingIsReadWhereItIsOff) {
  make(0);
  for (int i = 0; i < 10; ++i) store_->scrub(now_ += 100 * second);
  EXPECT_EQ(store_->scrub_figures().bytes, 0U);
}

// A flipped bit, or a sector that the disk cannot read.
struct What {
  std::string family;
  bool is_unreadable;
};
std::ostream& operator<<(std::ostream& out, const What& what) {
  return out << what.family << (what.is_unreadable ? "_sector" : "_bit");
}

class ScrubFinds : public ScrubTest, public testing::WithParamInterface<What> {
 protected:
  void damage() {
    const std::string table = table_of(GetParam().family);
    GetParam().is_unreadable ? disk_->set(table, 9, 1) : flip_byte(table, 9);
  }
};

TEST_P(ScrubFinds, DamageOfTheFirstBlock) {
  make(64 << 20);
  scrub(1);
  damage();
  scrub(2);
  EXPECT_THAT(store_->damage(), HasSubstr(GetParam().family));
  if (!is_loaded(GetParam().family)) {
    ASSERT_EQ(store_->damaged_blocks().size(), 1U);
    EXPECT_EQ(name_of(store_->damaged_blocks()[0].family), GetParam().family);
    EXPECT_THAT(store_->damaged_rows(), IsEmpty());
    EXPECT_EQ(store_->damaged_blocks()[0].offset, 0U);
    EXPECT_THAT(events(), HasSubstr("store.damage_contained"));
    return;
  }
  ASSERT_EQ(store_->damaged_rows().size(), 1U);
  EXPECT_EQ(store_->damaged_rows()[0].family, GetParam().family);
  EXPECT_EQ(store_->damaged_rows()[0].offset, 0U);
  EXPECT_THAT(events(), HasSubstr("store.damaged_rows family=" + GetParam().family));
  // It is said once.
  const std::string said = events();
  scrub(3);
  EXPECT_EQ(store_->damaged_rows().size(), 1U);
  EXPECT_EQ(events(), said);
}

INSTANTIATE_TEST_SUITE_P(All, ScrubFinds,
                         testing::Values(What{"ready", false}, What{"ready", true},
                                         What{"bodies", false}, What{"bodies", true},
                                         What{"notes", false}, What{"notes", true},
                                         What{"ended", false}, What{"ended", true},
                                         What{"ended_order", false}, What{"ended_order", true}),
                         testing::PrintToStringParamName());

// Then nobody knows where its blocks lie.
TEST_F(ScrubTest, ADamagedFooterIsFound) {
  make(64 << 20);
  const std::string table = table_of("ready");
  flip_byte(table, fs::file_size(table) - 1);
  scrub(1);
  ASSERT_EQ(store_->damaged_rows().size(), 1U);
  EXPECT_EQ(store_->damaged_rows()[0].family, "ready");
}

// Its file may be cut off while it is read.
TEST_F(ScrubTest, ATableThatIsGoneMeanwhileIsNoDamage) {
  make(50'000);
  for (int i = 0; i < 3; ++i) store_->scrub(now_ += second);
  Batch batch;
  for (JobId id = 1; id <= jobs; ++id) {
    batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
    if (id <= jobs_with_notes) batch.add(NotesRemoved{.job = id, .kept = 1});
  }
  batch.seal({.epoch = store_->opening().epoch, .index = 2, .known_durable = 1, .now = 6});
  ASSERT_TRUE(store_->write(batch, false).ok());
  ASSERT_TRUE(store_->flush().ok());
  std::atomic<bool> cancelled = false;
  ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
  scrub(2);
  EXPECT_EQ(store_->damage(), "");
}

}  // namespace
}  // namespace perennial::store
