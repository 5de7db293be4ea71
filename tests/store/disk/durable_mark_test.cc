#include "store/disk/durable_mark.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
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

constexpr size_t slot_bytes = 4096;

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
  void flip(size_t at, char bits = 1) const {
    std::string content = content_of(path());
    content[at] = static_cast<char>(content[at] ^ bits);
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

// The other slot holds the mark before. A tear behind nearly all of the slot may leave the new one.
TEST_F(DurableMarkTest, SurvivesATornWrite) {
  const auto file = DurableMarkFile::create(nullptr, dir_.path(), mark_at(5));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write(mark_at(6)).ok());
  ASSERT_TRUE((*file)->sync().ok());
  const std::string before = content_of(path());
  ASSERT_TRUE((*file)->write(mark_at(7)).ok());
  const std::string after = content_of(path());
  for (size_t at = slot_bytes; at < slot_bytes + durable_mark_bytes; ++at) {
    write_file(path(), after.substr(0, at) + before.substr(at));
    const std::optional<DurableMark> found = read();
    EXPECT_TRUE(found == mark_at(6) || found == mark_at(7)) << at;
  }
  write_file(path(), after);
  EXPECT_EQ(read(), mark_at(7));
}

// One wrong byte does not hide the newer mark, although the other slot is whole.
TEST_F(DurableMarkTest, IsReadWhereOneByteOfTheNewerSlotIsWrong) {
  const auto file = DurableMarkFile::create(nullptr, dir_.path(), mark_at(5));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write(mark_at(6)).ok());
  ASSERT_TRUE((*file)->sync().ok());
  ASSERT_TRUE((*file)->write(mark_at(7)).ok());
  std::string damage;
  ASSERT_TRUE(read_durable_mark(nullptr, dir_.path(), &damage).ok());
  EXPECT_EQ(damage, "");
  const std::string whole = content_of(path());
  for (size_t at = 0; at < durable_mark_bytes; ++at) {
    for (const char wrong : {'\x01', '\x80', '\xff'}) {
      flip(slot_bytes + at, wrong);
      const auto found = read_durable_mark(nullptr, dir_.path(), &damage);
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(*found, mark_at(7)) << at;
      EXPECT_THAT(damage, testing::HasSubstr("byte 4096 of durable is damaged")) << at;
      write_file(path(), whole);
    }
  }
  flip(slot_bytes + 24);
  flip(slot_bytes + 40);
  const auto found = read_durable_mark(nullptr, dir_.path(), &damage);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, mark_at(6));
  EXPECT_THAT(damage, testing::HasSubstr("cannot be read"));
}

// Then the damage of one slot, however large, hides nothing.
TEST_F(DurableMarkTest, IsInBothSlotsOnceTheLogIsIdle) {
  const auto faults = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
  const auto file = DurableMarkFile::create(env.get(), dir_.path(), mark_at(5));
  ASSERT_TRUE(file.ok());
  for (const BatchIndex index : {6, 7, 8}) {
    ASSERT_TRUE((*file)->write(mark_at(index)).ok());
    ASSERT_TRUE((*file)->sync().ok());
  }
  ASSERT_TRUE((*file)->sync().ok());  // Nothing was written since the last one.
  EXPECT_EQ(faults->count(Call::Sync), 4U);
  const std::string both = content_of(path());
  for (const size_t slot : {0, 1}) {
    std::string content = both;
    content.replace(slot * slot_bytes, durable_mark_bytes, durable_mark_bytes, '\0');
    write_file(path(), content);
    EXPECT_EQ(read(), mark_at(8)) << slot;
  }
  write_file(path(), both);
  ASSERT_TRUE((*file)->sync().ok());  // Once is enough.
  EXPECT_EQ(faults->count(Call::Sync), 4U);
  ASSERT_TRUE((*file)->write(mark_at(9)).ok());
  EXPECT_EQ(read(), mark_at(9));
}

TEST_F(DurableMarkTest, IsRefusedWhenBothSlotsAreDamaged) {
  ASSERT_TRUE(DurableMarkFile::create(nullptr, dir_.path(), mark_at(5)).ok());
  for (const size_t at : {24, 40, 4096 + 24, 4096 + 40}) flip(at);
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
