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

Schedule schedule_of(uint32_t body_bytes, std::string tube = "t") {
  Schedule out = {.name = "s", .tube = std::move(tube), .when = ScheduleAt{1}, .put = {}};
  out.put.body_bytes = body_bytes;
  return out;
}

TEST(Batch, KeepsTheLastDefinitionAndTheLastProgressOfEachSchedule) {
  Batch batch;
  batch.add(ScheduleStored{schedule_of(2), {.planned = 1}}, "hi");
  batch.add(ScheduleChanged{"other", {.planned = 5}});
  batch.add(ScheduleStored{schedule_of(3, "u"), {.planned = 2}}, "you");
  batch.add(ScheduleChanged{"s", {.planned = 3}});
  ASSERT_EQ(batch.schedules().size(), 2U);
  const ScheduleEffect& first = batch.schedules()[0];
  EXPECT_EQ(first.name, "s");
  EXPECT_EQ(first.schedule, Boxed<Schedule>(schedule_of(3, "u")));
  EXPECT_EQ(first.body, "you");
  EXPECT_EQ(first.progress, (ScheduleProgress{.planned = 3}));
  EXPECT_FALSE(batch.schedules()[1].schedule);
  EXPECT_EQ(batch.schedules()[1].progress, (ScheduleProgress{.planned = 5}));
  EXPECT_TRUE(batch.promised());
  EXPECT_FALSE(batch.must_sync());
  EXPECT_EQ(batch.operations(), 4U);
}

// An earlier batch may have stored the schedule, so that its rows must be deleted.
TEST(Batch, AScheduleThatWasSetAndDeletedIsStillDeleted) {
  Batch batch;
  batch.add(ScheduleStored{schedule_of(2), {.planned = 1}}, "hi");
  batch.add(ScheduleDeleted{"s"});
  ASSERT_EQ(batch.schedules().size(), 1U);
  EXPECT_FALSE(batch.schedules()[0].schedule);
  EXPECT_FALSE(batch.schedules()[0].progress);
  EXPECT_EQ(batch.schedules()[0].body, "");
  // It may be set again.
  batch.add(ScheduleStored{schedule_of(0), {.planned = 9}});
  ASSERT_EQ(batch.schedules().size(), 1U);
  EXPECT_EQ(batch.schedules()[0].progress, (ScheduleProgress{.planned = 9}));
}

TEST(Batch, CountsTheBytesOfSchedules) {
  const std::string body(500, 'b');
  Batch batch;
  batch.add(ScheduleChanged{"s", {.planned = 1}});
  const size_t changed = batch.bytes();
  EXPECT_GE(changed, 64U);
  batch.add(ScheduleStored{schedule_of(500), {.planned = 1}}, body);
  EXPECT_GE(batch.bytes(), changed + 500);
  batch.add(ScheduleDeleted{"s"});
  EXPECT_EQ(batch.bytes(), changed);
}

TEST(BatchDeathTest, AScheduleHasItsBodyAndChangesOnlyWhileItIsThere) {
  Batch batch;
  EXPECT_DEATH(batch.add(ScheduleStored{schedule_of(2), {.planned = 1}}, "h"), "check_failed");
  EXPECT_DEATH(batch.add(ScheduleDeleted{"s"}, "h"), "check_failed");
  batch.add(ScheduleDeleted{"s"});
  EXPECT_DEATH(batch.add(ScheduleChanged{"s", {.planned = 1}}), "check_failed");
}

TEST(Batch, IsEmptyAfterClear) {
  Batch batch;
  batch.add(key_of(1));
  batch.add(SettingsStored{.tube = "t", .settings = {}});
  batch.add(ScheduleDeleted{"s"});
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(batch.keys().empty());
  EXPECT_TRUE(batch.metas().empty());
  EXPECT_TRUE(batch.schedules().empty());
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
