#include "store/batch/batch.h"

#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

KeyStored key_of(JobId job) {
  return {.tube = "t", .key = "k", .job = job, .until = KeyUntil::Deleted, .expires_at = 0};
}

JobMoved moved(std::optional<JobState> before, const JobFields& fields) {
  JobRow row = {.id = 1, .ttr_s = 1};
  if (fields != JobFields{}) row.fields = fields;
  return {.id = 1, .before = before, .after = row, .promised = true};
}

TEST(Batch, KeepsTheLastWriteOfEachKey) {
  Batch batch;
  batch.add(key_of(1));
  batch.add(
      KeyStored{.tube = "t", .key = "other", .job = 3, .until = KeyUntil::Ttl, .expires_at = 9});
  batch.add(KeyFreed{.tube = "t", .key = "k"});
  batch.add(key_of(2));
  ASSERT_EQ(batch.keys().size(), 2U);
  EXPECT_EQ(std::get<KeyStored>(batch.keys()[0]), key_of(2));
  EXPECT_EQ(std::get<KeyStored>(batch.keys()[1]).key, "other");
  EXPECT_EQ(batch.transitions(), 4U);
  EXPECT_EQ(batch.operations(), 2U);
}

// An earlier batch may have stored the key, so that its row must be deleted.
TEST(Batch, AKeyThatWasStoredAndFreedIsStillFreed) {
  Batch batch;
  batch.add(key_of(1));
  batch.add(KeyFreed{.tube = "t", .key = "k"});
  ASSERT_EQ(batch.keys().size(), 1U);
  EXPECT_EQ(std::get<KeyFreed>(batch.keys()[0]), (KeyFreed{.tube = "t", .key = "k"}));
}

TEST(Batch, AKeyBelongsToItsTube) {
  Batch batch;
  batch.add(KeyFreed{.tube = "a", .key = "bc"});
  batch.add(KeyFreed{.tube = "ab", .key = "c"});
  EXPECT_EQ(batch.keys().size(), 2U);
}

TEST(Batch, OnlySettingsPromise) {
  Batch batch;
  batch.add(key_of(1));
  batch.add(KeyFreed{.tube = "t", .key = "k"});
  EXPECT_FALSE(batch.promised());
  batch.add(SettingsStored{.tube = "t", .settings = {}});
  EXPECT_TRUE(batch.promised());
  EXPECT_FALSE(batch.must_sync());
  EXPECT_EQ(batch.metas().size(), 1U);
  EXPECT_EQ(batch.operations(), 2U);
}

// A batch is bounded by its bytes, so the names, fields and keys in it count.
TEST(Batch, CountsTheBytesOfFieldsKeysAndSettings) {
  const std::string name(200, 'n');
  Batch batch;
  batch.add(moved({}, {}));
  const size_t plain = batch.bytes();
  batch.add(moved(JobState::Ready, {.dead = name}));
  EXPECT_EQ(batch.bytes(), plain + 203);
  batch.add(moved(JobState::Ready, {.attempts = 1}));
  EXPECT_EQ(batch.bytes(), plain + 7);
  batch.add(moved(JobState::Ready, {}));
  EXPECT_EQ(batch.bytes(), plain);
  batch.add(KeyFreed{.tube = name, .key = name});
  const size_t with_key = batch.bytes();
  EXPECT_GE(with_key, plain + 400);
  batch.add(KeyFreed{.tube = name, .key = name});
  EXPECT_EQ(batch.bytes(), with_key);
  batch.add(SettingsStored{.tube = name, .settings = {.dead = name}});
  EXPECT_GE(batch.bytes(), with_key + 403);
}

TEST(Batch, IsEmptyAfterClear) {
  Batch batch;
  batch.add(key_of(1));
  batch.add(SettingsStored{.tube = "t", .settings = {}});
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(batch.keys().empty());
  EXPECT_TRUE(batch.metas().empty());
  EXPECT_EQ(batch.bytes(), 0U);
  EXPECT_EQ(batch.operations(), 0U);
  batch.add(key_of(2));
  ASSERT_EQ(batch.keys().size(), 1U);
  EXPECT_EQ(std::get<KeyStored>(batch.keys()[0]).job, 2U);
}

TEST(Batch, ASealedBatchGetsAnotherPlaceAndKeepsTheRest) {
  Batch batch;
  batch.add(key_of(2));
  batch.seal({.epoch = 7, .index = 3, .known_durable = 2, .now = 5});
  batch.reseal({.epoch = 4, .index = 3, .known_durable = 0, .now = 5});
  EXPECT_EQ(batch.place(), (BatchPlace{.epoch = 4, .index = 3, .known_durable = 0, .now = 5}));
  EXPECT_EQ(batch.keys().size(), 1U);
  EXPECT_DEATH(batch.reseal({.epoch = 4, .index = 4, .known_durable = 0, .now = 5}),
               "check_failed");
}

}  // namespace
}  // namespace perennial::store
