#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>

#include "store/format/format.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/raw_db.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/seed.h"

// P9: a damaged directory does not open, and the message says what is damaged.
namespace perennial::store {
namespace {

// Opens and loads a store. Returns what is wrong.
Status visit(const std::string& path) {
  Result<std::unique_ptr<Store>> store = Store::open({.data_dir = path});
  if (!store.ok()) return store.take_status();
  Result<Image> image = read_image(**store);
  return image.ok() ? Status() : image.take_status();
}

std::string family_of_table(const std::string& path) {
  rocksdb::SstFileReader table{rocksdb::Options()};
  if (!table.Open(path).ok()) return {};
  const std::string name = table.GetTableProperties()->column_family_name;
  return name == rocksdb::kDefaultColumnFamilyName ? std::string(name_of(Family::Meta)) : name;
}

struct DamageCase {
  const char* name;
  std::function<void(RawDb&)> damage;
  StatusCode want;
  const char* message;  // A part of it.
};

void PrintTo(const DamageCase& damage, std::ostream* out) {
  *out << damage.name;
}

class Damage : public testing::TestWithParam<DamageCase> {};

TEST_P(Damage, DamagedRowsAreRefused) {
  const TempDir dir;
  make_store(dir.data_dir());
  ASSERT_TRUE(visit(dir.data_dir()).ok());
  {
    RawDb db(dir.data_dir());
    GetParam().damage(db);
  }
  const Status status = visit(dir.data_dir());
  EXPECT_EQ(status.code(), GetParam().want) << status.message();
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

const Bytes<8> key_one = job_key(1);
const Bytes<8> key_two = job_key(2);
const JobRow row_two = {.id = 2, .tube = 1, .ttr_s = 1};

INSTANTIATE_TEST_SUITE_P(
    Store, Damage,
    testing::Values(
        DamageCase{"NewerFormat",
                   [](RawDb& db) {
                     db.put(Family::Meta, "f", view(encode_format_version(format_version + 1)));
                   },
                   StatusCode::Unsupported, "its format is 6, which only a newer program reads"},
        // A newer program has also written to its log.
        DamageCase{"UnknownFamily",
                   [](RawDb& db) {
                     db.add_family("tags");
                     db.put(Family::Meta, "f", view(encode_format_version(format_base)));
                   },
                   StatusCode::Unsupported, "it has a family tags"},
        DamageCase{"NoFormatVersion", [](RawDb& db) { db.remove(Family::Meta, "f"); },
                   StatusCode::Corruption, "meta, key 66: the row is missing"},
        DamageCase{"NoCommitRow", [](RawDb& db) { db.remove(Family::Meta, "c"); },
                   StatusCode::Corruption, "meta, key 63: the row is missing"},
        DamageCase{"NoNextId", [](RawDb& db) { db.remove(Family::Meta, "n"); },
                   StatusCode::Corruption, "meta, key 6e: the row is missing"},
        DamageCase{"BadCommitRow", [](RawDb& db) { db.put(Family::Meta, "c", "?"); },
                   StatusCode::Corruption, "meta, key 63: wrong length"},
        DamageCase{"UnknownMetaKey", [](RawDb& db) { db.put(Family::Meta, "z", "?"); },
                   StatusCode::Corruption, "meta, key 7a: unknown key"},
        DamageCase{"LongMetaKey", [](RawDb& db) { db.put(Family::Meta, "cc", "?"); },
                   StatusCode::Corruption, "meta, key 6363: key of the wrong length"},
        DamageCase{"BadSettings", [](RawDb& db) { db.put(Family::Meta, "st", "\x01\x0e\0"); },
                   StatusCode::Corruption, "meta, key 7374: a field is cut off"},
        DamageCase{"BadKeyRow", [](RawDb& db) { db.put(Family::Keys, "\x01tk", "?"); },
                   StatusCode::Corruption, "keys, key 01746b: wrong length"},
        DamageCase{"BadField",
                   [](RawDb& db) {
                     std::string row(view(encode(row_two)));
                     row[0] = 2;
                     db.put(Family::Ready, view(key_two), row + "\x0e");
                   },
                   StatusCode::Corruption, "ready, key 0000000000000002: a field is cut off"},
        DamageCase{"BadRow", [](RawDb& db) { db.put(Family::Delayed, view(key_two), "?"); },
                   StatusCode::Corruption, "delayed, key 0000000000000002: wrong length"},
        DamageCase{"TwoStates",
                   [](RawDb& db) {
                     const JobRow row = {.id = 1, .tube = 1, .ttr_s = 1};
                     db.put(Family::Reserved, view(key_one), view(encode(row)));
                   },
                   StatusCode::Corruption, "key 0000000000000001: the job is also in"},
        DamageCase{"JobWithoutTube",
                   [](RawDb& db) {
                     const JobRow row = {.id = 2, .tube = 9, .ttr_s = 1};
                     db.put(Family::Ready, view(key_two), view(encode(row)));
                   },
                   StatusCode::Corruption, "key 0000000000000002: the job's tube is missing"},
        DamageCase{"PauseWithoutTube",
                   [](RawDb& db) {
                     db.put(Family::Meta, view(tube_key(MetaTag::Pause, 9)),
                            view(encode(TubePaused{.tube = 9, .pause = 1, .until = 1})));
                   },
                   StatusCode::Corruption, "meta, key 7000000009: a pause without its tube"},
        DamageCase{"JobWithoutBody",
                   [](RawDb& db) { db.put(Family::Ready, view(key_two), view(encode(row_two))); },
                   StatusCode::Corruption, "bodies holds 1 rows by the account of its tables"},
        DamageCase{"BodyWithoutJob",
                   [](RawDb& db) { db.single_delete(Family::Ready, view(key_one)); },
                   StatusCode::Corruption, "bodies holds 1 rows by the account of its tables"}),
    [](const auto& one) { return one.param.name; });

TEST(Damage, ABodyWithTheWrongHashIsFoundWhenItIsRead) {
  const TempDir dir;
  make_store(dir.data_dir());
  {
    RawDb db(dir.data_dir());
    db.single_delete(Family::Bodies, view(key_one));
    db.put(Family::Bodies, view(key_one), "12345678hello");
  }
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(read_image(**store).ok());
  const Result<Body> body = (*store)->read_body(1);
  ASSERT_FALSE(body.ok());
  EXPECT_FALSE((*store)->body_in_memory(1));
  EXPECT_EQ(body.status().code(), StatusCode::Corruption);
  EXPECT_EQ(body.status().message(),
            "bodies, key 0000000000000001: the hash does not fit the body");
}

// RocksDB pull request 11782: an iterator skips a damaged block at the beginning of a table that is
// not the first of its level, and says nothing. A lost key would let a second job have it.
TEST(Damage, ABlockThatAScanSkipsIsRefused) {
  const TempDir dir;
  make_store(dir.data_dir());
  const auto row_of = [](const char* key) {
    return KeyStored{.tube = "mail", .key = key, .job = 1, .until = {}, .expires_at = 1};
  };
  std::string second;
  {
    RawDb db(dir.data_dir());
    for (const char* const key : {"a", "b"}) {
      const std::string place = key_row_key("mail", key);
      db.put(Family::Keys, place, view(encode(row_of(key))));
      db.flush();
      db.compact(Family::Keys, place, place);
      second = db.table_from(Family::Keys, place);
    }
  }
  ASSERT_TRUE(visit(dir.data_dir()).ok());
  flip_byte(second, 21);
  const Status status = visit(dir.data_dir());
  EXPECT_EQ(status.code(), StatusCode::Corruption) << status.message();
  EXPECT_NE(status.message().find(second), std::string::npos) << status.message();
  const auto reader = Reader::open({.path = dir.data_dir()});
  EXPECT_EQ(reader.status().code(), StatusCode::Corruption);
}

// A forced start is refused before RocksDB writes the log to tables, also if the log is whole.
class RefusedForcedStart : public testing::TestWithParam<bool> {};

TEST_P(RefusedForcedStart, ChangesNothing) {
  const bool has_lost_log = GetParam();
  const TempDir dir;
  make_store(dir.data_dir());
  std::string second;
  {
    RawDb db(dir.data_dir());
    for (const JobId id : {2, 3}) {
      const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = 5};
      const Bytes<8> key = job_key(id);
      db.put(Family::Ready, view(key), view(encode(row)));
      db.put(Family::Bodies, view(key), std::string(view(body_hash(id, "hello"))) + "hello");
      db.flush();
      db.compact(Family::Ready, view(key), view(key));
      second = db.table_from(Family::Ready, view(key));
    }
    db.put(Family::Meta, "n", view(encode_next_id(4)));
  }
  const Status whole = visit(dir.data_dir());
  ASSERT_TRUE(whole.ok()) << whole.message();
  if (has_lost_log) write_file(newest_log(dir.data_dir()), "");
  flip_byte(second, 21);
  const std::map<std::string, FileBytes> before = state_of(dir.data_dir() + "/db");
  std::string events;
  const Result<std::unique_ptr<Store>> store = Store::open(
      {.data_dir = dir.data_dir(),
       .recover = Recover::PointInTime,
       .events = {.info = [&](std::string_view at, std::string_view) { events += at; }}});
  EXPECT_EQ(store.status().code(), StatusCode::Corruption) << store.status().message();
  EXPECT_EQ(events.find("store.forced_start"), std::string::npos) << events;
  EXPECT_EQ(state_of(dir.data_dir() + "/db"), before);
  EXPECT_FALSE(std::filesystem::exists(dir.data_dir() + "/set-aside"));
}

INSTANTIATE_TEST_SUITE_P(Store, RefusedForcedStart, testing::Bool(),
                         [](const auto& one) { return one.param ? "LostLog" : "WholeLog"; });

// A directory as a kill leaves it: its rows are in several tables of each family and in the log.
void make_killed_store(const std::string& path, uint64_t seed) {
  StoreModel model(seed);
  const auto store = Store::open({.data_dir = path});
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 20; ++i) {
    Batch batch;
    model.next(batch, 30);
    ASSERT_TRUE((*store)->write(batch, true).ok());
    if (i % 5 != 4 || i == 19) continue;
    ASSERT_TRUE((*store)->flush().ok());
  }
}

// A start that a damaged table refuses leaves the log, the other tables and the MANIFEST to a
// repair. Flips in bodies and notes do not refuse it, except in the index of a table or behind it:
// they are contained. Nor do flips in ended jobs, which no start reads; a compaction that meets one
// ends the store later, which this test does not look at.
TEST(Damage, ARefusedStartChangesNothing) {
  std::mt19937_64 random(support::seed());
  std::map<std::string, int> refused;
  for (int round = 0; round < 3; ++round) {
    const TempDir dir;
    const std::string made = dir.path() + "/made";
    make_killed_store(made, random());
    for (const auto& file : std::filesystem::directory_iterator(made + "/db")) {
      if (file.path().extension() != ".sst") continue;
      const std::string name = file.path().filename();
      const std::string family = family_of_table(file.path());
      if (family == name_of(Family::Ended) || family == name_of(Family::EndedOrder)) continue;
      std::filesystem::copy(made, dir.data_dir(), std::filesystem::copy_options::recursive);
      const uint64_t at = random() % file.file_size();
      flip_byte(dir.data_dir() + "/db/" + name, at);
      const auto before = state_of(dir.data_dir() + "/db");
      const std::string mark = content_of(dir.data_dir() + "/durable");
      if (!visit(dir.data_dir()).ok()) {
        ++refused[family_of_table(file.path())];
        EXPECT_EQ(state_of(dir.data_dir() + "/db"), before) << name << " at " << at;
        EXPECT_EQ(content_of(dir.data_dir() + "/durable"), mark) << name << " at " << at;
      }
      std::filesystem::remove_all(dir.data_dir());
    }
  }
  for (const Family family : {Family::Meta, Family::Ready, Family::Reserved, Family::Delayed,
                              Family::Buried, Family::Keys}) {
    EXPECT_GT(refused[std::string(name_of(family))], 0) << name_of(family);
  }
}

// A review refuses a plain start and a forced one, with the rows that it would load, before either
// changes anything.
class ReviewedStart : public testing::TestWithParam<bool> {};

TEST_P(ReviewedStart, ThatIsRefusedChangesNothing) {
  const TempDir dir;
  make_killed_store(dir.data_dir(), support::seed());
  if (GetParam()) write_file(newest_log(dir.data_dir()), "");
  const auto before = state_of(dir.data_dir() + "/db");
  const std::string mark = content_of(dir.data_dir() + "/durable");
  Nanos newest_seen = 0;
  std::map<JobId, JobRow> seen;
  const Options options = {.data_dir = dir.data_dir(),
                           .recover = GetParam() ? Recover::PointInTime : Recover::Strict};
  const auto review = [&](Nanos newest, const std::function<Status(const LoadSink&)>& load) {
    newest_seen = newest;
    Status read = load({.tube = [](TubeId, std::string_view) { return Status(); },
                        .pause = [](const TubePaused&) { return Status(); },
                        .settings = [](const SettingsStored&) { return Status(); },
                        .job =
                            [&](const JobRow& row) {
                              seen[row.id] = row;
                              return Status();
                            },
                        .key = [](const KeyStored&) { return Status(); }});
    return read.ok() ? Status(StatusCode::InvalidArgument, "not now") : read;
  };
  const auto refused = Store::open(options, review);
  EXPECT_EQ(refused.status().code(), StatusCode::InvalidArgument) << refused.status().message();
  EXPECT_EQ(state_of(dir.data_dir() + "/db"), before);
  EXPECT_EQ(content_of(dir.data_dir() + "/durable"), mark);
  EXPECT_FALSE(std::filesystem::exists(dir.data_dir() + "/set-aside"));
  const auto store = Store::open(options);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->opening().last_now, newest_seen);
  const Result<Image> image = read_image(**store);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->jobs, seen);
}

INSTANTIATE_TEST_SUITE_P(Store, ReviewedStart, testing::Bool(),
                         [](const auto& one) { return one.param ? "Forced" : "Plain"; });

// A read error is not damage: the disk may still hold the row.
TEST(Damage, AReadErrorIsReported) {
  const TempDir dir;
  make_store(dir.data_dir());
  ASSERT_TRUE(visit(dir.data_dir()).ok());
  const auto fs = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
  const auto store = Store::open({.data_dir = dir.data_dir(), .env = env.get()});
  ASSERT_TRUE(store.ok());
  fs->fail_all(support::Call::Read, rocksdb::IOStatus::IOError("injected"));
  EXPECT_EQ((*store)->read_body(1).status().code(), StatusCode::Io);
  EXPECT_EQ(read_image(**store).status().code(), StatusCode::Io);
}

// Files that are missing or truncated.
struct LossCase {
  const char* name;
  const char* suffix;  // Names the files in db/ that are lost.
};

void PrintTo(const LossCase& loss, std::ostream* out) {
  *out << loss.name;
}

class Loss : public testing::TestWithParam<LossCase> {};

TEST_P(Loss, LostFilesAreRefused) {
  const TempDir dir;
  make_store(dir.data_dir());
  ASSERT_TRUE(visit(dir.data_dir()).ok());  // The open writes the log to tables.
  int lost = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.data_dir() + "/db")) {
    const std::string name = entry.path().filename();
    const bool is_match = name.ends_with(GetParam().suffix) || name.starts_with(GetParam().suffix);
    if (is_match && std::filesystem::remove(entry.path())) ++lost;
  }
  ASSERT_GT(lost, 0);
  const Status status = visit(dir.data_dir());
  EXPECT_EQ(status.code(), StatusCode::Corruption) << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("Can't access"), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Store, Loss,
                         testing::Values(LossCase{"Tables", ".sst"},
                                         LossCase{"Manifest", "MANIFEST"}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
