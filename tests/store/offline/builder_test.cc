#include "store/offline/builder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/reader.h"
#include "store/store.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr CommitRow commit = {.epoch = 7, .index = 1234, .known_durable = 1230, .now = 99};

Image random_image(uint64_t seed) {
  StoreModel model(seed);
  Batch batch;
  for (int i = 0; i < 60; ++i) model.next(batch, 40);
  return model.image();
}

// Returns the image with the numbers that the builder gives to tubes.
Image build(Builder& builder, const Image& from) {
  Image to;
  std::map<TubeId, TubeId> numbers;
  for (const auto& [id, name] : from.tubes) {
    const Result<TubeId> number = builder.tube(name);
    EXPECT_TRUE(number.ok());
    numbers[id] = *number;
    to.tubes[*number] = name;
  }
  for (const auto& [id, until] : from.pauses) {
    EXPECT_TRUE(builder.add_pause({.tube = numbers[id], .pause = 5, .until = until}).ok());
    to.pauses[numbers[id]] = until;
  }
  for (const auto& [tube, settings] : from.settings) {
    EXPECT_TRUE(builder.add_settings({.tube = tube, .settings = settings}).ok());
  }
  to.settings = from.settings;
  for (const auto& [name, key] : from.keys) EXPECT_TRUE(builder.add_key(key).ok());
  to.keys = from.keys;
  for (auto [id, row] : from.jobs) {
    row.tube = numbers[row.tube];
    EXPECT_TRUE(builder.add_job(row, body_of(id)).ok());
    const uint32_t had = row.fields ? row.fields->notes : 0;
    for (uint32_t number = had - notes_kept(had) + 1; number <= had; ++number) {
      EXPECT_TRUE(builder.add_note(id, note_of(id, number)).ok());
    }
    to.jobs[id] = row;
  }
  return to;
}

TEST(Builder, AServerStartsFromTheDirectory) {
  for (uint64_t round = 0; round < 10; ++round) {
    const TempDir dir;
    const Image image = random_image(support::seed() + round);
    ASSERT_FALSE(image.jobs.empty());
    ASSERT_FALSE(image.keys.empty());
    JobId next_id = image.jobs.rbegin()->first + 5;
    for (const auto& [name, key] : image.keys) next_id = std::max(next_id, key.job + 5);
    Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    const Image built = build(**builder, image);
    EXPECT_FALSE(fs::exists(dir.data_dir()));
    const Status published = (*builder)->publish(commit, next_id);
    ASSERT_TRUE(published.ok()) << published.message();
    builder->reset();
    EXPECT_FALSE(fs::exists(dir.data_dir() + ".loading"));

    {
      const Result<std::unique_ptr<Reader>> reader = Reader::open({.path = dir.data_dir()});
      ASSERT_TRUE(reader.ok()) << reader.status().message();
      EXPECT_EQ((*reader)->commit(), commit);
      EXPECT_EQ((*reader)->next_id(), next_id);
    }
    for (uint64_t start = 1; start <= 2; ++start) {
      Result<std::unique_ptr<Store>> store = Store::open({.data_dir = dir.data_dir()});
      ASSERT_TRUE(store.ok()) << store.status().message();
      EXPECT_EQ((*store)->opening().epoch, commit.epoch + start);
      EXPECT_EQ((*store)->opening().last_index, commit.index);
      EXPECT_EQ((*store)->opening().last_now, commit.now);
      EXPECT_EQ((*store)->opening().next_id, next_id);
      EXPECT_EQ(difference(**store, built), "");
      if (start == 1) {
        ASSERT_TRUE((*store)->close(next_id).ok());
      }
    }
  }
}

// The cases include a commit row whose known_durable equals its index, which begins an epoch.
TEST(Builder, AcceptsEveryCommitRowThatAServerWrites) {
  const CommitRow commits[] = {{},
                               {.epoch = 1, .index = 0, .known_durable = 0, .now = 0},
                               {.epoch = 3, .index = 9, .known_durable = 9, .now = 7},
                               {.epoch = 3, .index = 9, .known_durable = 0, .now = 7}};
  for (const CommitRow& row : commits) {
    const TempDir dir;
    Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok());
    ASSERT_TRUE((*builder)->publish(row, 1).ok());
    builder->reset();
    for (int start = 0; start < 2; ++start) {  // The second start follows a crash.
      const Result<std::unique_ptr<Store>> store = Store::open({.data_dir = dir.data_dir()});
      ASSERT_TRUE(store.ok()) << store.status().message();
      EXPECT_EQ((*store)->opening().last_index, row.index);
    }
  }
}

TEST(Builder, TubesGetNumbersByTheServersRule) {
  const TempDir dir;
  Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = dir.data_dir()});
  ASSERT_TRUE(builder.ok());
  const std::pair<std::string, TubeId> tubes[] = {{"a", 1}, {"b", 2}, {"default", 0},
                                                  {"a", 1}, {"c", 3}, {"default", 0}};
  for (const auto& [name, number] : tubes) EXPECT_EQ(*(*builder)->tube(name), number) << name;
}

TEST(Builder, RefusesInvalidRows) {
  const TempDir dir;
  Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = dir.data_dir()});
  ASSERT_TRUE(builder.ok());
  EXPECT_EQ((*builder)->tube("").status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ((*builder)->tube(std::string(201, 'x')).status().code(), StatusCode::InvalidArgument);
  const JobRow row = {.id = 5, .ttr_s = 1};
  JobRow bad = row;
  bad.ttr_s = 0;
  EXPECT_EQ((*builder)->add_job(bad, "").code(), StatusCode::InvalidArgument);
  bad = row;
  bad.order = UINT64_MAX;
  EXPECT_EQ((*builder)->add_job(bad, "").code(), StatusCode::InvalidArgument);
  EXPECT_EQ((*builder)->add_pause({.tube = 0, .pause = -1, .until = 0}).code(),
            StatusCode::InvalidArgument);
  bad = row;
  bad.fields = JobFields();
  EXPECT_EQ((*builder)->add_job(bad, "").code(), StatusCode::InvalidArgument);
  EXPECT_EQ((*builder)->add_settings({.tube = "t", .settings = {}}).code(),
            StatusCode::InvalidArgument);
  KeyStored key = {.tube = "t", .key = "k", .job = 7, .until = KeyUntil::Deleted, .expires_at = -1};
  EXPECT_EQ((*builder)->add_key(key).code(), StatusCode::InvalidArgument);
  key.expires_at = 1;
  EXPECT_TRUE((*builder)->add_key(key).ok());
  EXPECT_TRUE((*builder)->add_job(row, "").ok());
  EXPECT_EQ((*builder)->publish({}, 7).code(), StatusCode::InvalidArgument);
  EXPECT_EQ((*builder)->publish({.index = 1, .known_durable = 2}, 6).code(),
            StatusCode::InvalidArgument);
  EXPECT_EQ((*builder)->publish({}, 5).code(), StatusCode::InvalidArgument);
}

TEST(Builder, AcceptsAnEmptyDirectoryAndALinkToOne) {
  const TempDir dir;
  fs::create_directory(dir.path() + "/empty");
  fs::create_directory(dir.path() + "/linked");
  fs::create_directory_symlink(dir.path() + "/linked", dir.path() + "/link");
  for (const std::string name : {"/empty/", "/link", "/new///"}) {
    Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = dir.path() + name});
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    const Status published = (*builder)->publish({}, 1);
    ASSERT_TRUE(published.ok()) << published.message();
    EXPECT_TRUE(fs::exists(dir.path() + name + "/db/CURRENT"));
  }
  EXPECT_TRUE(fs::is_symlink(dir.path() + "/link"));
}

TEST(Builder, RefusesAnExistingDirectoryAndDoesNotChangeIt) {
  const TempDir dir;
  write_file(dir.path() + "/file", "mine");
  fs::create_directory(dir.path() + "/full");
  write_file(dir.path() + "/full/file", "mine");
  for (const std::string name : {"/file", "/full"}) {
    const auto builder = Builder::begin({.path = dir.path() + name});
    ASSERT_FALSE(builder.ok());
    EXPECT_EQ(builder.status().code(), StatusCode::InvalidArgument);
    EXPECT_FALSE(fs::exists(dir.path() + name + ".loading"));
  }
  EXPECT_EQ(fs::file_size(dir.path() + "/full/file"), 4u);
}

TEST(Builder, LeavesNothingUnlessPublished) {
  const TempDir dir;
  {
    Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok());
    EXPECT_TRUE((*builder)->add_job({.id = 1, .ttr_s = 1}, "").ok());
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(Builder, ReplacesTheDirectoryThatACrashLeft) {
  for (const std::string left : {"/db.new", "/db"}) {
    const TempDir dir;
    const std::string building = dir.data_dir() + ".loading";
    fs::create_directories(building + left);
    write_file(building + left + "/rest", "rest");
    write_file(building + "/lock", "");
    Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    ASSERT_TRUE((*builder)->publish(commit, 1).ok());
    builder->reset();
    EXPECT_FALSE(fs::exists(dir.data_dir() + "/db/rest"));
    EXPECT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
  }
}

TEST(Builder, DoesNotChangeAForeignDirectoryOfThatName) {
  const TempDir dir;
  fs::create_directory(dir.data_dir() + ".loading");
  write_file(dir.data_dir() + ".loading/photo", "mine");
  EXPECT_EQ(Builder::begin({.path = dir.data_dir()}).status().code(), StatusCode::Corruption);
  EXPECT_TRUE(fs::exists(dir.data_dir() + ".loading/photo"));
}

TEST(Builder, ASecondBuilderIsRefused) {
  const TempDir dir;
  Result<std::unique_ptr<Builder>> first = Builder::begin({.path = dir.data_dir()});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Builder::begin({.path = dir.data_dir()}).status().code(), StatusCode::Locked);
  EXPECT_TRUE((*first)->publish(commit, 1).ok());
}

TEST(Builder, AFullDiskIsReportedAndNothingIsLeft) {
  const TempDir dir;
  const auto faults = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
  Result<std::unique_ptr<Builder>> builder =
      Builder::begin({.path = dir.data_dir(), .env = env.get()});
  ASSERT_TRUE(builder.ok());
  const std::string body(1 << 20, 'x');
  EXPECT_TRUE((*builder)->add_job({.id = 1, .ttr_s = 1, .body_bytes = 1 << 20}, body).ok());
  faults->fail_all(support::Call::Append, rocksdb::IOStatus::NoSpace());
  const Status published = (*builder)->publish(commit, 2);
  EXPECT_EQ(published.code(), StatusCode::NoSpace) << published.message();
  builder->reset();
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

}  // namespace
}  // namespace perennial::store
