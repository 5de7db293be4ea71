#include "store/batch/batch_codec.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "store/format/bytes.h"
#include "tests/golden/batches.h"
#include "tests/store/random_fields.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

std::string encoded(const Batch& batch) {
  std::string out;
  encode_batch(batch, out);
  return out;
}

// Returns `bytes` with the right hash appended.
std::string hashed(std::string bytes) {
  std::string hash(8, '\0');
  put(hash.data(), XXH3_64bits(bytes.data(), bytes.size()));
  return bytes + hash;
}

std::string without_hash(const std::string& bytes) {
  return bytes.substr(0, bytes.size() - 8);
}

struct Describe {
  std::string operator()(const TubeStored& one) const {
    return fmt::format("stored {} {}", one.tube, one.name);
  }
  std::string operator()(const TubeEnded& one) const { return fmt::format("ended {}", one.tube); }
  std::string operator()(const TubePaused& one) const {
    return fmt::format("paused {} {} {}", one.tube, one.pause, one.until);
  }
  std::string operator()(const PauseEnded& one) const { return fmt::format("over {}", one.tube); }
  std::string operator()(const NextIdRaised& one) const {
    return fmt::format("raised {}", one.next_id);
  }
  std::string operator()(const SettingsStored& one) const {
    return one.settings == TubeSettings{} ? "settings removed " + one.tube
                                          : "settings " + one.tube + encode(one);
  }
};

bool same_schedule(const ScheduleEffect& one, const ScheduleEffect& other) {
  return one.name == other.name && one.schedule == other.schedule &&
         one.progress == other.progress && one.body == other.body;
}

void expect_same(const Batch& found, const Batch& want) {
  EXPECT_EQ(found.place(), want.place());
  EXPECT_EQ(found.must_sync(), want.must_sync());
  ASSERT_EQ(found.metas().size(), want.metas().size());
  for (size_t i = 0; i < found.metas().size(); ++i) {
    EXPECT_EQ(std::visit(Describe(), found.metas()[i]), std::visit(Describe(), want.metas()[i]));
  }
  EXPECT_TRUE(std::ranges::equal(found.keys(), want.keys()));
  EXPECT_TRUE(std::ranges::equal(found.notes(), want.notes()));
  EXPECT_TRUE(std::ranges::equal(found.gone(), want.gone()));
  EXPECT_EQ(found.spans(), want.spans());
  EXPECT_TRUE(std::ranges::equal(found.schedules(), want.schedules(), same_schedule));
  auto job = found.jobs().begin();
  for (const JobEffect& wanted : want.jobs()) {
    if (!wanted.before && !wanted.after && !wanted.ended) continue;
    ASSERT_NE(job, found.jobs().end());
    EXPECT_EQ(job->id, wanted.id);
    EXPECT_EQ(job->before, wanted.before);
    EXPECT_EQ(job->after, wanted.after);
    EXPECT_EQ(job->ended, wanted.ended);
    const bool is_new = (wanted.after || wanted.ended) && !wanted.before;
    EXPECT_EQ(job->body, is_new ? wanted.body : "");
    ++job;
  }
  EXPECT_EQ(job, found.jobs().end());
}

TEST(BatchCodec, GoldenBytesDecodeAndEncodeUnchanged) {
  for (const golden::NamedBatch& one : golden::all_batches()) {
    SCOPED_TRACE(fmt::format("{} of format {}", one.name, one.format));
    std::ifstream file(fmt::format("{}/batch_{}/{}", GOLDEN_DIR, one.format, one.name),
                       std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(bytes.empty());
    const Result<Batch> batch = decode_batch(bytes);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    expect_same(*batch, one.batch);
    EXPECT_EQ(encoded(*batch), bytes);
    EXPECT_EQ(encoded(one.batch), bytes);
  }
}

TEST(BatchCodec, EncodeAppendsToTheString) {
  const auto batches = golden::all_batches();
  std::string out = "kept";
  for (const golden::NamedBatch& one : batches) encode_batch(one.batch, out);
  std::string want = "kept";
  for (const golden::NamedBatch& one : batches) want += encoded(one.batch);
  EXPECT_EQ(out, want);
}

// A tube whose first places are empty is in a batch with its span alone, beside others or not.
TEST(BatchCodec, ABatchMayOnlyTrimTheEndedJobsOfATube) {
  Batch batch;
  batch.add(EndedTrimmed{"a", {3, 5}});
  batch.add(EndedTrimmed{"b", {7, 7}});
  batch.add(EndedGone{.tube = "c", .place = 1, .job = 4, .notes = 0, .span = {2, 9}});
  batch.seal({.epoch = 1, .index = 1});
  const Result<Batch> back = decode_batch(encoded(batch));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->spans(), batch.spans());
  EXPECT_EQ(back->spans().size(), 3u);
  EXPECT_EQ(encoded(*back), encoded(batch));
}

// A history whose batches are encoded and decoded before the write ends in the expected rows.
TEST(BatchCodec, RandomBatchesDecodeToThemselves) {
  const TempDir dir;
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok());
  StoreModel model(support::seed());
  Batch batch;
  for (int i = 0; i < 200; ++i) {
    model.next(batch, 1 + i % 40);
    const std::string bytes = encoded(batch);
    const Result<Batch> back = decode_batch(bytes);
    ASSERT_TRUE(back.ok()) << back.status().message();
    expect_same(*back, batch);
    ASSERT_EQ(encoded(*back), bytes);
    ASSERT_TRUE((*store)->write(*back, false).ok());
  }
  EXPECT_EQ(difference(**store, model.image()), "");
}

TEST(BatchCodec, EveryFlippedByteAndEveryTruncationIsRefused) {
  const auto batches = golden::all_batches();
  for (const golden::NamedBatch& one :
       {batches[0], batches[1], batches[3], batches[4], batches[5], batches[6], batches[7],
        batches[8], batches[9], batches[10]}) {
    const std::string bytes = encoded(one.batch);
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const int flip : {1, 0x80, 0xff}) {
        std::string flipped = bytes;
        flipped[at] = static_cast<char>(flipped[at] ^ flip);
        const Result<Batch> batch = decode_batch(flipped);
        ASSERT_FALSE(batch.ok()) << at;
        EXPECT_EQ(batch.status().code(), StatusCode::Corruption);
      }
      ASSERT_FALSE(decode_batch(bytes.substr(0, at)).ok()) << at;
      // A truncated batch is also refused with a right hash.
      const Result<Batch> shortened = decode_batch(hashed(bytes.substr(0, at)));
      ASSERT_TRUE(!shortened.ok() || at == bytes.size() - 8) << at;
    }
    ASSERT_FALSE(decode_batch(bytes + '\0').ok());
    ASSERT_FALSE(decode_batch(hashed(without_hash(bytes) + '\0')).ok());
  }
}

// With a right hash, changed bytes either decode to a batch that encodes to the same bytes, or are
// refused with a message.
TEST(BatchCodec, ChangedBytesWithARightHashDecodeExactlyOrAreRefused) {
  const auto batches = golden::all_batches();
  for (const golden::NamedBatch& one : {batches[0], batches[3], batches[4], batches[5], batches[6],
                                        batches[7], batches[8], batches[9], batches[10]}) {
    const std::string good = without_hash(encoded(one.batch));
    for (size_t at = 0; at < good.size(); ++at) {
      for (const int flip : {1, 2, 3, 4, 8, 0x80, 0xff}) {
        std::string changed = good;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        const std::string bytes = hashed(changed);
        const Result<Batch> batch = decode_batch(bytes);
        if (batch.ok()) {
          ASSERT_EQ(encoded(*batch), bytes) << at;
        } else {
          ASSERT_FALSE(batch.status().message().empty());
        }
      }
    }
  }
}

// The offsets of the parts of the batch below.
constexpr size_t meta_begin = 48;
constexpr size_t job_begin = meta_begin + 8 + 4 + 8 + 16 + 8 + 8;

Batch small_batch() {
  Batch batch;
  batch.add(TubeStored{.tube = 2, .name = "mail"});
  batch.add(TubePaused{.tube = 2, .pause = 3, .until = 4});
  batch.add(NextIdRaised{.next_id = 9});
  const JobRow row = {.id = 5, .tube = 2, .ttr_s = 1, .body_bytes = 2};
  batch.add(JobMoved{.id = 5, .before = {}, .after = row, .promised = true}, "hi");
  batch.add(JobMoved{.id = 6, .before = JobState::Buried, .after = {}, .promised = true});
  batch.seal({.epoch = 3, .index = 7, .known_durable = 6, .now = 1});
  return batch;
}

// The offsets of the parts of the batch below.
constexpr size_t settings_begin = 56;
constexpr size_t removed_begin = settings_begin + 8 + 4 + 2 + 7;
constexpr size_t key_begin = removed_begin + 8 + 4;
constexpr size_t freed_begin = key_begin + 8 + 4 + 1 + 24;
constexpr size_t fields_job_begin = freed_begin + 8 + 4 + 1;

Batch batch_with_fields() {
  Batch batch;
  batch.add(SettingsStored{.tube = "mail", .settings = {.tries = 3}});
  batch.add(SettingsStored{.tube = "gone", .settings = {}});
  batch.add(
      KeyStored{.tube = "mail", .key = "k", .job = 5, .until = KeyUntil::Deleted, .expires_at = 0});
  batch.add(KeyFreed{.tube = "mail", .key = "f"});
  JobRow row = {.id = 5, .tube = 2, .ttr_s = 1, .body_bytes = 2};
  row.fields = JobFields{.key = JobKey{.key = "k"}};
  batch.add(JobMoved{.id = 5, .before = {}, .after = row, .promised = true}, "hi");
  batch.add(JobMoved{.id = 6, .before = JobState::Buried, .after = {}, .promised = true});
  batch.seal({.epoch = 3, .index = 7, .known_durable = 6, .now = 1});
  return batch;
}

struct RefusalCase {
  const char* name;
  size_t at;
  std::string bytes;  // The bytes that are written there.
  const char* why;
  StatusCode code = StatusCode::Corruption;
};

void PrintTo(const RefusalCase& refusal, std::ostream* out) {
  *out << refusal.name;
}

class RefusedBatch : public testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedBatch, ByName) {
  const RefusalCase& given = GetParam();
  std::string bytes = without_hash(encoded(small_batch()));
  ASSERT_EQ(bytes.size(), job_begin + 16 + 64 + 2 + 16);
  ASSERT_LE(given.at + given.bytes.size(), bytes.size());
  ASSERT_TRUE(decode_batch(hashed(bytes)).ok());
  bytes.replace(given.at, given.bytes.size(), given.bytes);
  const Result<Batch> batch = decode_batch(hashed(bytes));
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.status().code(), given.code);
  EXPECT_NE(batch.status().message().find(given.why), std::string::npos)
      << batch.status().message();
}

std::string text(size_t count, char byte) {
  return std::string(count, byte);
}

INSTANTIATE_TEST_SUITE_P(
    Store, RefusedBatch,
    testing::Values(
        RefusalCase{"NewerFormat", 0, "\7",
                    "its format is 7, which only a newer program reads: this one knows 6",
                    StatusCode::Unsupported},
        RefusalCase{"AnEntryOfALog", 0, "\3", "unknown format"},
        RefusalCase{"NoFormat", 0, text(1, 0), "unknown format"},
        RefusalCase{"UnusedInTheHead", 7, "\1", "unused bytes are not zero"},
        RefusalCase{"EpochZero", 8, text(8, 0), "its epoch is 0"},
        RefusalCase{"IndexZero", 16, text(8, 0), "its index is 0"},
        RefusalCase{"DurableBeforeItWasMade", 24, "\7", "durable before it was made"},
        RefusalCase{"TimeBeforeTheEpoch", 39, "\x80", "7 of epoch 3, byte 0: time before"},
        RefusalCase{"TooManyMetas", 40, text(4, '\xff'), "more effects than it has room for"},
        RefusalCase{"TooManyJobs", 44, text(4, '\xff'), "more effects than it has room for"},
        RefusalCase{"TooManyOfBoth", 40, text(8, '\xff'), "more effects than it has room for"},
        RefusalCase{"AMetaMore", 40, "\4", "byte 100: a name where none belongs"},
        RefusalCase{"AJobLess", 44, "\1", "there is more than it counts"},
        RefusalCase{"AJobMore", 44, "\3", "it goes beyond the end"},
        RefusalCase{"KindZero", meta_begin, text(1, 0), "byte 48: a name where none belongs"},
        RefusalCase{"KindUnknown", meta_begin + 12, "\x08", "an effect of an unknown kind"},
        RefusalCase{"UnusedInAMeta", meta_begin + 2, "\1", "unused bytes are not zero"},
        RefusalCase{"ANameTooLong", meta_begin + 1, "\xff", "it goes beyond the end"},
        RefusalCase{"NoName", meta_begin + 1, text(1, 0), "tube without a name"},
        RefusalCase{"NegativePause", meta_begin + 27, "\x80", "negative pause"},
        RefusalCase{"NextIdZero", meta_begin + 44, text(8, 0), "next id is 0"},
        RefusalCase{"NextIdOfATube", meta_begin + 40, "\1", "a tube where none belongs"},
        RefusalCase{"StateUnknown", job_begin, "\5", "a job in an unknown state"},
        RefusalCase{"StateAfterUnknown", job_begin + 1, "\xff", "a job in an unknown state"},
        RefusalCase{"NeitherBeforeNorAfter", job_begin, text(2, 0), "was not there and is not"},
        RefusalCase{"UnusedInAJob", job_begin + 2, "\1", "unused bytes are not zero"},
        RefusalCase{"IdZero", job_begin + 8, text(1, 0), "job id is 0"},
        RefusalCase{"AJobTwice", job_begin + 8, "\6", "a job twice"},
        RefusalCase{"RowOfAnotherFormat", job_begin + 16, "\3", "unknown row format"},
        RefusalCase{"RowOfFormat2", job_begin + 16, "\2", "wrong length"},
        RefusalCase{"FieldsInFormat1", job_begin + 2, "\7", "unused bytes are not zero"},
        RefusalCase{"Settings", meta_begin, "\6", "settings in a batch of format 1"},
        RefusalCase{"SettingsRemoved", meta_begin, "\7", "settings in a batch of format 1"},
        RefusalCase{"RowThatIsWrong", job_begin + 16 + 16, text(4, 0), "ttr is 0"},
        RefusalCase{"BodyTooLong", job_begin + 16 + 20, text(4, '\xff'), "beyond the end"}),
    [](const auto& one) { return one.param.name; });

class RefusedBatchWithFields : public testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedBatchWithFields, ByName) {
  const RefusalCase& given = GetParam();
  std::string bytes = without_hash(encoded(batch_with_fields()));
  ASSERT_EQ(bytes.size(), fields_job_begin + 16 + 64 + 9 + 2 + 16);
  ASSERT_TRUE(decode_batch(hashed(bytes)).ok()) << decode_batch(hashed(bytes)).status().message();
  bytes.replace(given.at, given.bytes.size(), given.bytes);
  const Result<Batch> batch = decode_batch(hashed(bytes));
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.status().code(), given.code);
  EXPECT_NE(batch.status().message().find(given.why), std::string::npos)
      << batch.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    Store, RefusedBatchWithFields,
    testing::Values(
        RefusalCase{"NewerFormat", 0, "\7", "its format is 7", StatusCode::Unsupported},
        RefusalCase{"AsFormat4", 0, "\4", "nothing in it needs its format"},
        RefusalCase{"AsFormat1", 0, "\1", "settings in a batch of format 1"},
        RefusalCase{"UnusedInTheHead", 7, "\1", "unused bytes are not zero"},
        RefusalCase{"UnusedAtTheEndOfTheHead", 55, "\1", "unused bytes are not zero"},
        RefusalCase{"TooManyKeys", 48, text(4, '\xff'), "more effects than it has room for"},
        RefusalCase{"AKeyLess", 48, "\1", "wrong length"},
        RefusalCase{"SettingsOfATube", settings_begin + 4, "\1",
                    "a tube's number where none belongs"},
        RefusalCase{"SettingsOfNoTube", settings_begin + 1, text(1, 0), "it goes beyond the end"},
        RefusalCase{"SettingsBeyondTheEnd", settings_begin + 12, text(2, '\xff'),
                    "it goes beyond the end"},
        RefusalCase{"SettingsWithoutAValue", settings_begin + 17, text(4, 0), "tries out of range"},
        RefusalCase{"SettingsWithAnUnknownField", settings_begin + 14, "\x0e",
                    "field 14 is unknown"},
        RefusalCase{"RemovedOfATube", removed_begin + 4, "\1",
                    "a tube's number where none belongs"},
        RefusalCase{"RemovedOfNoTube", removed_begin + 1, text(1, 0), "tube without a name"},
        RefusalCase{"KeyKindZero", key_begin, text(1, 0), "a key effect of an unknown kind"},
        RefusalCase{"KeyKindUnknown", key_begin, "\3", "a key effect of an unknown kind"},
        RefusalCase{"UnusedInAKey", key_begin + 7, "\1", "unused bytes are not zero"},
        RefusalCase{"KeyOfNoTube", key_begin + 1, text(1, 0), "tube without a name"},
        RefusalCase{"KeyOfALongTube", key_begin + 1, "\xc9", "goes beyond the end"},
        RefusalCase{"KeyWithoutAKey", key_begin + 2, text(1, 0), "the key is empty or too long"},
        RefusalCase{"KeyBeyondTheEnd", key_begin + 2, "\xff", "it goes beyond the end"},
        RefusalCase{"KeyRowOfAnotherFormat", key_begin + 13, "\2", "unknown row format"},
        RefusalCase{"KeyOfJobZero", key_begin + 13 + 8, text(1, 0), "job id is 0"},
        RefusalCase{"KeyTwice", freed_begin + 12, "k", "a key twice"},
        RefusalCase{"FieldsOfADeletedJob", fields_job_begin + 16 + 64 + 9 + 2 + 2, "\1",
                    "fields of a job without a row"},
        RefusalCase{"NoFields", fields_job_begin + 2, text(1, 0), "wrong length"},
        RefusalCase{"FieldsCutOff", fields_job_begin + 2, "\x08", "a field is cut off"},
        RefusalCase{"FieldsBeyondTheEnd", fields_job_begin + 2, text(2, '\xff'),
                    "it goes beyond the end"},
        RefusalCase{"UnusedInAJob", fields_job_begin + 4, "\1", "unused bytes are not zero"},
        RefusalCase{"RowOfFormat1", fields_job_begin + 16, "\1", "wrong length"},
        RefusalCase{"UnknownField", fields_job_begin + 16 + 64, "\x20", "field 32 is unknown"}),
    [](const auto& one) { return one.param.name; });

// The same batch has the same bytes, so that no batch has format 2 without a need.
TEST(BatchCodec, ABatchOfFormat2NeedsIt) {
  std::string bytes = without_hash(encoded(small_batch()));
  bytes[0] = 2;
  bytes.insert(48, text(8, 0));
  const Result<Batch> batch = decode_batch(hashed(bytes));
  ASSERT_FALSE(batch.ok());
  EXPECT_NE(batch.status().message().find("nothing in it needs its format"), std::string::npos)
      << batch.status().message();
}

TEST(BatchCodec, ABatchHasFormat2OnlyForWhatItAdds) {
  const auto format_of = [](const Transition& transition) {
    Batch batch;
    batch.add(transition);
    batch.seal({.epoch = 1, .index = 1});
    return static_cast<int>(encoded(batch)[0]);
  };
  JobRow row = {.id = 1, .ttr_s = 1};
  const auto put_of = [&row] {
    return JobMoved{.id = 1, .before = {}, .after = row, .promised = true};
  };
  EXPECT_EQ(format_of(put_of()), 1);
  EXPECT_EQ(format_of(TubeStored{.tube = 1, .name = "t"}), 1);
  row.fields = JobFields{.attempts = 1};
  EXPECT_EQ(format_of(put_of()), 2);
  EXPECT_EQ(format_of(KeyFreed{.tube = "t", .key = "k"}), 2);
  EXPECT_EQ(format_of(SettingsStored{.tube = "t", .settings = {}}), 2);
}

// The offsets of the parts of the batch below: two schedules that are set, one that is changed, and
// one that is deleted.
constexpr size_t set_begin = 72;
constexpr size_t set_bytes = 8 + 1 + 64 + 8 + 15 + 2 + 8;
constexpr size_t changed_begin = set_begin + set_bytes;
constexpr size_t deleted_begin = changed_begin + 8 + 1 + 64;

Batch batch_with_schedules() {
  Batch batch;
  Schedule schedule = {.name = "s", .tube = "t", .when = ScheduleAt{1}, .put = {}, .missed_max = 0};
  schedule.put.body_bytes = 2;
  batch.add(ScheduleStored{.schedule = schedule, .progress = {.planned = 1}}, "hi");
  batch.add(ScheduleChanged{.name = "c", .progress = {.planned = 1}});
  batch.add(ScheduleDeleted{.name = "d"});
  batch.seal({.epoch = 3, .index = 7, .known_durable = 6, .now = 1});
  return batch;
}

class RefusedBatchWithSchedules : public testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedBatchWithSchedules, ByName) {
  const RefusalCase& given = GetParam();
  std::string bytes = without_hash(encoded(batch_with_schedules()));
  ASSERT_EQ(bytes.size(), deleted_begin + 8 + 1);
  ASSERT_TRUE(decode_batch(hashed(bytes)).ok()) << decode_batch(hashed(bytes)).status().message();
  bytes.replace(given.at, given.bytes.size(), given.bytes);
  const Result<Batch> batch = decode_batch(hashed(bytes));
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.status().code(), given.code);
  EXPECT_NE(batch.status().message().find(given.why), std::string::npos)
      << batch.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    Store, RefusedBatchWithSchedules,
    testing::Values(
        RefusalCase{"NewerFormat", 0, "\7", "its format is 7", StatusCode::Unsupported},
        RefusalCase{"AsFormat5", 0, "\5", "there is more than it counts"},
        RefusalCase{"UnusedAtTheEndOfTheHead", 71, "\1", "unused bytes are not zero"},
        RefusalCase{"TooManySchedules", 64, text(4, '\xff'), "more effects than it has room for"},
        RefusalCase{"AScheduleLess", 64, "\2", "there is more than it counts"},
        RefusalCase{"AScheduleMore", 64, "\4", "it goes beyond the end"},
        RefusalCase{"NoSchedule", 64, text(1, 0), "there is more than it counts"},
        RefusalCase{"KindZero", set_begin, text(1, 0), "a schedule effect of an unknown kind"},
        RefusalCase{"KindUnknown", set_begin, "\4", "a schedule effect of an unknown kind"},
        RefusalCase{"Unused", set_begin + 3, "\1", "unused bytes are not zero"},
        RefusalCase{"NoName", deleted_begin + 1, text(1, 0), "schedule without a name"},
        RefusalCase{"NameBeyondTheEnd", deleted_begin + 1, "\xff", "it goes beyond the end"},
        RefusalCase{"AScheduleTwice", deleted_begin + 8, "s", "a schedule twice"},
        RefusalCase{"AChangeOfADeletedOne", changed_begin + 8, "d", "a schedule twice"},
        RefusalCase{"SetWithoutADefinition", set_begin + 4, text(1, 0),
                    "a schedule without its definition"},
        RefusalCase{"ChangedWithADefinition", set_begin, "\2",
                    "a schedule without its definition, or one where none belongs"},
        RefusalCase{"DeletedWithADefinition", set_begin, "\3",
                    "a schedule without its definition, or one where none belongs"},
        RefusalCase{"DefinitionCutOff", set_begin + 4, "\x20",
                    "the hash does not fit the schedule"},
        RefusalCase{"DefinitionBeyondTheEnd", set_begin + 4, text(4, '\xff'),
                    "it goes beyond the end"},
        RefusalCase{"DefinitionOfAnother", set_begin + 8, "z",
                    "the hash does not fit the schedule"},
        RefusalCase{"ProgressOfAnotherFormat", set_begin + 9, "\2", "unknown row format"},
        RefusalCase{"ProgressInNoState", changed_begin + 10, text(1, 0),
                    "a schedule in an unknown state"},
        RefusalCase{"BodyChanged", set_begin + set_bytes - 9, "x",
                    "the hash does not fit the schedule"}),
    [](const auto& one) { return one.param.name; });

// A batch of format 6 has a schedule, or a job that one has put; also one that has ended.
TEST(BatchCodec, ABatchHasFormat6OnlyForSchedules) {
  JobRow row = {.id = 1, .ttr_s = 1};
  row.fields = JobFields{.schedule = ScheduleOrigin{.name = "s", .planned = 1}};
  Batch put;
  put.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true});
  EXPECT_EQ(format_of(put), batch_format_with_schedules);
  EXPECT_TRUE(has_schedules(put));
  Batch ended;
  ended.add(JobMoved{.id = 1, .before = row.state, .after = {}, .promised = true});
  EXPECT_EQ(format_of(ended), batch_format);
  ended.add(JobEnded{.job = EndedJob{.row = row, .tube = "t", .place = 1},
                     .span = {.first = 1, .next = 2}});
  EXPECT_EQ(format_of(ended), batch_format_with_schedules);
  Batch deleted;
  deleted.add(ScheduleDeleted{"s"});
  EXPECT_EQ(format_of(deleted), batch_format_with_schedules);
  row.fields = JobFields{.put_by = "ann"};
  Batch other;
  other.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true});
  EXPECT_EQ(format_of(other), batch_format_with_ended);
  EXPECT_FALSE(has_schedules(other));
}

// A job that a schedule has put does not fit a batch of an earlier format.
TEST(BatchCodec, AJobOfAScheduleNeedsFormat6) {
  JobRow row = {.id = 1, .ttr_s = 1};
  row.fields = JobFields{.schedule = ScheduleOrigin{.name = "s", .planned = 1}};
  Batch put;
  put.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true});
  put.seal({.epoch = 1, .index = 1});
  std::string bytes = without_hash(encoded(put));
  bytes[0] = batch_format_with_ended;
  bytes.erase(64, 8);
  const Result<Batch> batch = decode_batch(hashed(bytes));
  ASSERT_FALSE(batch.ok());
  EXPECT_NE(batch.status().message().find("it needs format 6"), std::string::npos)
      << batch.status().message();
}

TEST(BatchCodec, RandomSchedulesDecodeToThemselves) {
  std::mt19937_64 random(support::seed());
  for (int i = 0; i < 200; ++i) {
    std::deque<std::string> bodies;
    Batch batch;
    for (uint64_t left = 1 + random() % 20; left > 0; --left) {
      const std::string name = fmt::format("schedule-{}", random() % 8);
      const bool is_there = std::ranges::any_of(batch.schedules(), [&](const ScheduleEffect& one) {
        return one.name == name && one.progress;
      });
      if (is_there && random() % 3 == 0) {
        batch.add(ScheduleChanged{.name = name, .progress = random_progress(random)});
      } else if (random() % 3 == 0) {
        batch.add(ScheduleDeleted{.name = name});
      } else {
        Schedule schedule = random_schedule(random, name);
        bodies.emplace_back(random() % 300, 'b');
        schedule.put.body_bytes = static_cast<uint32_t>(bodies.back().size());
        batch.add(ScheduleStored{.schedule = schedule, .progress = random_progress(random)},
                  bodies.back());
      }
    }
    batch.seal({.epoch = 1, .index = 1});
    const std::string bytes = encoded(batch);
    const Result<Batch> back = decode_batch(bytes);
    ASSERT_TRUE(back.ok()) << back.status().message();
    expect_same(*back, batch);
    ASSERT_EQ(encoded(*back), bytes);
  }
}

TEST(BatchCodecDeathTest, EncodesOnlySealedBatches) {
  std::string out;
  EXPECT_DEATH(encode_batch(Batch(), out), "check_failed");
}

}  // namespace
}  // namespace perennial::store
