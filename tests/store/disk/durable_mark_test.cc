#include "store/disk/durable_mark.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/seed.h"

// P9: the durable mark, by which a start detects a log that lost its end, is never ahead of the
// log.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using support::Call;
using support::FaultFs;
using support::Loss;

DurableMark mark_at(BatchIndex index) {
  return {.epoch = 2, .index = index, .log_number = 12, .log_bytes = 100 * index};
}

class DurableMarkTest : public testing::Test {
 protected:
  std::string path() const { return dir_.path() + "/durable"; }
  std::optional<DurableMark> read() const {
    const auto found = read_durable_mark(nullptr, dir_.path());
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found : std::nullopt;
  }
  void flip(size_t at) const {
    std::string content = content_of(path());
    content[at] = static_cast<char>(content[at] ^ 1);
    write_file(path(), content);
  }

  const TempDir dir_;
};

TEST_F(DurableMarkTest, IsMissingInACopy) {
  EXPECT_EQ(read(), std::nullopt);
}

TEST_F(DurableMarkTest, ReadsTheMarkThatWasWrittenLast) {
  const auto file = DurableMarkFile::create(nullptr, dir_.path(), mark_at(5));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(read(), mark_at(5));
  for (BatchIndex index = 6; index < 10; ++index) {
    ASSERT_TRUE((*file)->write(mark_at(index)).ok());
    EXPECT_EQ(read(), mark_at(index));
  }
  // An older mark is written, too: a start with recover=point-in-time continues from an earlier
  // batch.
  const auto again = DurableMarkFile::create(nullptr, dir_.path(), mark_at(3));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(read(), mark_at(3));
}

// The other slot holds the mark before.
TEST_F(DurableMarkTest, SurvivesATornWrite) {
  const auto file = DurableMarkFile::create(nullptr, dir_.path(), mark_at(5));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write(mark_at(6)).ok());
  ASSERT_TRUE((*file)->sync().ok());
  ASSERT_TRUE((*file)->write(mark_at(7)).ok());
  for (const size_t at : {0, 1, 8, 16, 24, 32, 40, 48, 56, 63}) {
    flip(4096 + at);
    EXPECT_EQ(read(), mark_at(6)) << at;
    flip(4096 + at);
  }
  EXPECT_EQ(read(), mark_at(7));
}

TEST_F(DurableMarkTest, IsRefusedWhenBothSlotsAreDamaged) {
  ASSERT_TRUE(DurableMarkFile::create(nullptr, dir_.path(), mark_at(5)).ok());
  flip(24);
  flip(4096 + 24);
  const auto found = read_durable_mark(nullptr, dir_.path());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::Corruption);
  for (const std::string& content : {std::string(), std::string(100, '\0')}) {
    write_file(path(), content);
    EXPECT_FALSE(read_durable_mark(nullptr, dir_.path()).ok()) << content.size();
  }
}

// A power cut may keep any part of what was not synced.
TEST_F(DurableMarkTest, IsNeverNewerThanItWasWrittenNorOlderThanItWasSynced) {
  for (const Loss loss : {Loss::Whole, Loss::Prefix, Loss::Torn}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto faults = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
      const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
      const auto file = DurableMarkFile::create(env.get(), dir_.path(), mark_at(5));
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE((*file)->write(mark_at(6)).ok());
      ASSERT_TRUE((*file)->sync().ok());
      for (BatchIndex index = 7; index < 7 + seed % 5; ++index) {
        ASSERT_TRUE((*file)->write(mark_at(index)).ok());
      }
      faults->lose_power(loss, seed);
      const auto found = read();
      ASSERT_TRUE(found);
      EXPECT_GE(found->index, 6U);
      EXPECT_LT(found->index, 7 + seed % 5);
      if (loss == Loss::Whole) {
        EXPECT_EQ(found->index, 6U);
      }
    }
  }
}

TEST_F(DurableMarkTest, IsSyncedOnlyAfterAWrite) {
  const auto faults = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
  const auto file = DurableMarkFile::create(env.get(), dir_.path(), mark_at(5));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->sync().ok());
  EXPECT_EQ(faults->count(Call::Sync), 0U);
  ASSERT_TRUE((*file)->write(mark_at(5)).ok());
  ASSERT_TRUE((*file)->sync().ok());
  EXPECT_EQ(faults->count(Call::Sync), 0U);
  ASSERT_TRUE((*file)->write(mark_at(6)).ok());
  ASSERT_TRUE((*file)->sync().ok());
  EXPECT_EQ(faults->count(Call::Sync), 1U);
}

// The store writes the mark after each sync, so that it names the last batch that was synced.
TEST_F(DurableMarkTest, FollowsTheSyncsOfAStore) {
  StoreModel model(support::seed());
  const auto mark = [&] { return *read_durable_mark(nullptr, dir_.data_dir()); };
  const auto write = [&](Store& store, bool sync) {
    Batch batch;
    model.next(batch, 5);
    ASSERT_TRUE(store.write(batch, sync).ok());
  };
  auto store = Store::open({.data_dir = dir_.data_dir()});
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(mark()->index, 0U);
  write(**store, true);
  EXPECT_EQ(mark()->index, 1U);
  EXPECT_EQ(mark()->epoch, 1U);
  // The end of the log file may be padded with zeros.
  EXPECT_GE(mark()->log_bytes, log_end(newest_log(dir_.data_dir())));
  write(**store, false);
  EXPECT_EQ(mark()->index, 1U);
  ASSERT_TRUE((*store)->sync().ok());
  EXPECT_EQ(mark()->index, 2U);
  write(**store, false);
  ASSERT_TRUE((*store)->close(model.next_id()).ok());
  EXPECT_EQ(mark()->index, 3U);
  store = Status(StatusCode::NotFound, "closed");
  store = Store::open({.data_dir = dir_.data_dir()});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(mark()->epoch, 2U);
}

}  // namespace
}  // namespace perennial::store
