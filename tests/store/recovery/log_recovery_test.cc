#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/types/check.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P9: what a start reports about a damaged log, and what it does with point-in-time recovery.
namespace perennial::store {
namespace {

constexpr BatchIndex batches = 30;

// A store that was killed, with all its batches in one log file.
class LogRecovery : public testing::Test {
 protected:
  LogRecovery() {
    const auto store = Store::open({.data_dir = dir_.data_dir()});
    CHECK(store.ok());
    for (StoreModel model = begin_; model.index() < batches;) {
      Batch batch;
      model.next(batch, 20);
      CHECK((*store)->write(batch, true).ok());
    }
  }

  std::string log_path() const {
    std::string newest;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.data_dir() + "/db")) {
      if (entry.path().extension() == ".log") newest = std::max(newest, entry.path().string());
    }
    return newest;
  }
  void damage_log_in_the_middle() const {
    std::ifstream file(log_path(), std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const size_t middle = log_end(log_path()) / 2;
    content[middle] = static_cast<char>(content[middle] ^ 1);
    write_file(log_path(), content);
  }
  Result<std::unique_ptr<Store>> open(Recover recover) {
    Options options = {.data_dir = dir_.data_dir(), .recover = recover};
    options.events.info = [this](std::string_view at, std::string_view fields) {
      if (at.starts_with("store.log_")) {
        events_ += std::string(at) + " " + std::string(fields) + "\n";
      }
    };
    return Store::open(options);
  }

  const TempDir dir_;
  const StoreModel begin_{support::seed()};
  std::string events_;
};

TEST_F(LogRecovery, DamageIsRefusedWithAdvice) {
  damage_log_in_the_middle();
  const auto store = open(Recover::Strict);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Corruption);
  for (const char* part :
       {".log at byte ", "its checksum is wrong", "commits ", "to 30 could be lost",
        "restore a checkpoint", "copy the directory, and start with --recover=point-in-time"}) {
    EXPECT_NE(store.status().message().find(part), std::string::npos)
        << part << ": " << store.status().message();
  }
  EXPECT_EQ(events_, "");
  EXPECT_FALSE(open(Recover::Strict).ok()) << "the refusal has changed something";
}

TEST_F(LogRecovery, PointInTimeRecoveryTruncatesAtTheDamage) {
  damage_log_in_the_middle();
  {
    auto store = open(Recover::PointInTime);
    ASSERT_TRUE(store.ok()) << store.status().message();
    StoreModel model = begin_;
    Batch batch;
    while (model.index() < (*store)->opening().last_index) model.next(batch, 20);
    EXPECT_GT(model.index(), 0U);
    EXPECT_LT(model.index(), batches);
    EXPECT_EQ(difference(**store, model.image()), "");
  }
  EXPECT_NE(events_.find("store.log_forced message=\"the log is damaged in "), std::string::npos);
  EXPECT_NE(events_.find("store.log_cut file="), std::string::npos);
  EXPECT_TRUE(open(Recover::Strict).ok()) << "the cut is not whole";
}

TEST_F(LogRecovery, ATornEndIsTruncatedAndReported) {
  std::filesystem::resize_file(log_path(), log_end(log_path()) - 1);
  forget_last_sync(dir_.data_dir());
  const auto store = open(Recover::Strict);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->opening().last_index, batches - 1);
  EXPECT_NE(events_.find("last_kept=29 first_dropped=30 reason=\"the file ends in the middle"),
            std::string::npos)
      << events_;
}

// The newest file is empty, so that no record in it can tell of the missing file.
TEST_F(LogRecovery, AMissingOldestLogFileIsNoticedIfTheOthersAreEmpty) {
  const TempDir dir;
  {
    const auto store = Store::open({.data_dir = dir.data_dir()});
    ASSERT_TRUE(store.ok());
    StoreModel model(support::seed());
    Batch batch;
    while (model.index() < batches) {
      model.next(batch, 20);
      ASSERT_TRUE((*store)->write(batch, true).ok());
    }
    for (const Family family : {Family::Meta, Family::Ready, Family::Reserved, Family::Delayed,
                                Family::Buried, Family::Bodies}) {
      ASSERT_TRUE((*store)->flush(family).ok());
    }
  }
  std::string oldest = newest_log(dir.data_dir());
  for (const auto& entry : std::filesystem::directory_iterator(dir.data_dir() + "/db")) {
    if (entry.path().extension() == ".log") oldest = std::min(oldest, entry.path().string());
  }
  ASSERT_NE(oldest, newest_log(dir.data_dir())) << "the rows of keys are in an older file";
  std::filesystem::remove(oldest);
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_FALSE(store.ok()) << "the rows of keys are gone";
  EXPECT_NE(store.status().message().find("is missing"), std::string::npos)
      << store.status().message();
}

TEST_F(LogRecovery, AMissingNewestLogFileIsNoticed) {
  std::filesystem::remove(log_path());
  const auto store = open(Recover::Strict);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Corruption);
  EXPECT_NE(store.status().message().find("is missing, which was the newest"), std::string::npos)
      << store.status().message();
}

}  // namespace
}  // namespace perennial::store
