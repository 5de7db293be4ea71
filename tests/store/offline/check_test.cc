#include "store/offline/check.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/offline/builder.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/raw_db.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using Faults = std::vector<std::string>;

// Makes a directory with jobs 1 to `jobs`, which are ready in tube 1, "mail", 10 s after the epoch.
void make_dir(const std::string& path, JobId jobs) {
  Result<std::unique_ptr<Builder>> builder = Builder::begin({.path = path});
  ASSERT_TRUE(builder.ok());
  ASSERT_TRUE((*builder)->tube("mail").ok());
  for (JobId id = 1; id <= jobs; ++id) {
    const std::string body = body_of(id);
    const auto bytes = static_cast<uint32_t>(body.size());
    const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = bytes};
    ASSERT_TRUE((*builder)->add_job(row, body).ok());
  }
  ASSERT_TRUE(
      (*builder)->publish({.epoch = 1, .index = 2, .now = 10 * nanos_per_second}, jobs + 1).ok());
}

Result<CheckSummary> run_check(const std::string& path, bool deep, Faults& faults) {
  return check_directory(
      {.path = path,
       .deep = deep,
       .fault =
           [&](const Fault& fault) {
             faults.push_back(fmt::format("{} {}: {}", fault.where, fault.key, fault.what));
           },
       .is_tube_name = [](std::string_view name) { return name.front() != '-'; }});
}

std::string text_of(const Faults& faults) {
  std::string out;
  for (const std::string& fault : faults) out += fault + "\n";
  return out;
}

const Bytes<8> key_one = job_key(1);
const Bytes<8> key_four = job_key(4);
const JobRow row_one = {
    .id = 1, .tube = 1, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body_of(1).size())};
const JobRow row_four = {.id = 4, .tube = 1, .ttr_s = 1};

std::string stored_body(JobId id, const std::string& body) {
  return std::string(view(body_hash(id, body))) + body;
}

// Gives a job these fields.
void give(RawDb& db, JobId id, const JobFields& fields) {
  JobRow row = row_one;
  row.id = id;
  row.body_bytes = static_cast<uint32_t>(body_of(id).size());
  row.fields = fields;
  db.single_delete(Family::Ready, view(job_key(id)));
  db.put(Family::Ready, view(job_key(id)), view(encode(row)));
}

void give_key(RawDb& db, JobId id, const JobKey& key) {
  give(db, id, {.key = key});
}

// Puts a row of the key "k" of tube "mail" with what `change` makes of it.
void put_key(RawDb& db, JobId job, const std::function<void(KeyStored&)>& change = {}) {
  KeyStored key = {
      .tube = "mail", .key = "k", .job = job, .until = KeyUntil::Deleted, .expires_at = 0};
  if (change) change(key);
  db.put(Family::Keys, key_row_key(key.tube, key.key), view(encode(key)));
}

void put_settings(RawDb& db, const std::string& tube, const TubeSettings& settings) {
  db.put(Family::Meta, settings_key(tube), encode({.tube = tube, .settings = settings}));
}

void remove_job(RawDb& db, JobId id) {
  db.single_delete(Family::Ready, view(job_key(id)));
  db.single_delete(Family::Bodies, view(job_key(id)));
}

struct PlantCase {
  const char* name;
  std::function<void(RawDb&)> plant;
  Faults want;  // The beginning of each fault, in order.
  bool deep = false;
};

void PrintTo(const PlantCase& plant, std::ostream* out) {
  *out << plant.name;
}

class Check : public testing::TestWithParam<PlantCase> {};

TEST_P(Check, FindsExactlyTheseFaults) {
  const TempDir dir;
  make_dir(dir.data_dir(), 3);
  {
    RawDb db(dir.data_dir());
    GetParam().plant(db);
  }
  Faults faults;
  const Result<CheckSummary> summary = run_check(dir.data_dir(), GetParam().deep, faults);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->faults, faults.size());
  ASSERT_EQ(faults.size(), GetParam().want.size()) << text_of(faults);
  for (size_t i = 0; i < faults.size(); ++i) {
    EXPECT_TRUE(faults[i].starts_with(GetParam().want[i])) << faults[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Store, Check,
    testing::Values(
        PlantCase{"Nothing", [](RawDb&) {}, {}}, PlantCase{"NothingDeep", [](RawDb&) {}, {}, true},
        PlantCase{"RowOfAnotherLength",
                  [](RawDb& db) {
                    db.put(Family::Delayed, view(key_four), "x");
                    db.put(Family::Bodies, view(key_four), stored_body(4, ""));
                  },
                  {"delayed 0000000000000004: wrong length"}},
        PlantCase{"RowThatMakesNoSense",
                  [](RawDb& db) {
                    std::string row(view(encode(row_four)));
                    row[39] = '\x80';  // The job is ready since before the epoch.
                    db.put(Family::Ready, view(key_four), row);
                    db.put(Family::Bodies, view(key_four), stored_body(4, ""));
                  },
                  {"ready 0000000000000004: ready since out of range"}},
        PlantCase{"InTwoStates",
                  [](RawDb& db) { db.put(Family::Buried, view(key_one), view(encode(row_one))); },
                  {"buried 0000000000000001: the job is also in ready"}},
        PlantCase{"NoBody",
                  [](RawDb& db) { db.single_delete(Family::Bodies, view(key_one)); },
                  {"ready 0000000000000001: the job has no body"}},
        PlantCase{"NoJob",
                  [](RawDb& db) { db.single_delete(Family::Ready, view(key_one)); },
                  {"bodies 0000000000000001: the body has no job"}},
        PlantCase{"AnotherSize",
                  [](RawDb& db) {
                    db.single_delete(Family::Bodies, view(key_one));
                    db.put(Family::Bodies, view(key_one), stored_body(1, "short"));
                  },
                  {"bodies 0000000000000001: the body has 5 bytes, and its job says 37"}},
        PlantCase{"NotEvenAHash",
                  [](RawDb& db) {
                    db.single_delete(Family::Bodies, view(key_one));
                    db.put(Family::Bodies, view(key_one), "short");
                  },
                  {"bodies 0000000000000001: the body is shorter than its hash"}},
        PlantCase{"AnotherHash",
                  [](RawDb& db) {
                    db.single_delete(Family::Bodies, view(key_one));
                    db.put(Family::Bodies, view(key_one), stored_body(2, body_of(1)));
                  },
                  {"bodies 0000000000000001: the hash does not fit the body"},
                  true},
        PlantCase{"AnotherHashIsNotLookedAt",
                  [](RawDb& db) {
                    db.single_delete(Family::Bodies, view(key_one));
                    db.put(Family::Bodies, view(key_one), stored_body(2, body_of(1)));
                  },
                  {}},
        PlantCase{"IdNotBelowTheNext",
                  [](RawDb& db) {
                    db.put(Family::Ready, view(key_four), view(encode(row_four)));
                    db.put(Family::Bodies, view(key_four), stored_body(4, ""));
                  },
                  {"ready 0000000000000004: job 4 is not below the next id, 4"}},
        PlantCase{"KeysOfAnotherLength",
                  [](RawDb& db) {
                    db.put(Family::Ready, "abc", view(encode(row_one)));
                    db.put(Family::Bodies, "abc", stored_body(1, ""));
                    db.put(Family::Meta, "cc", view(encode(CommitRow())));
                  },
                  {"meta 6363: key of the wrong length", "ready 616263: key of the wrong length",
                   "bodies 616263: key of the wrong length"}},
        PlantCase{"TubeMissing",
                  [](RawDb& db) { db.remove(Family::Meta, view(tube_key(MetaTag::Tube, 1))); },
                  {"ready 0000000000000001: the job's tube, 1, is missing",
                   "ready 0000000000000002: the job's tube, 1, is missing",
                   "ready 0000000000000003: the job's tube, 1, is missing"}},
        PlantCase{"TubeTwice",
                  [](RawDb& db) {
                    const TubeStored tube = {.tube = 2, .name = "mail"};
                    db.put(Family::Meta, view(tube_key(MetaTag::Tube, 2)), encode(tube));
                  },
                  {"meta 7400000002: tube 1 has the same name, mail"}},
        PlantCase{"TubeWithoutAName",
                  [](RawDb& db) { db.put(Family::Meta, view(tube_key(MetaTag::Tube, 1)), "\x01"); },
                  {"meta 7400000001: tube without a name"}},
        PlantCase{"TubeOfNoName",
                  [](RawDb& db) {
                    const TubeStored tube = {.tube = 2, .name = "-x"};
                    db.put(Family::Meta, view(tube_key(MetaTag::Tube, 2)), encode(tube));
                  },
                  {"meta 7400000002: the name is not one that a tube can have"}},
        PlantCase{"PauseWithoutTube",
                  [](RawDb& db) {
                    const TubePaused pause = {.tube = 9, .pause = 1, .until = 1};
                    db.put(Family::Meta, view(tube_key(MetaTag::Pause, 9)), view(encode(pause)));
                  },
                  {"meta 7000000009: a pause without its tube"}},
        PlantCase{"UnknownKey",
                  [](RawDb& db) { db.put(Family::Meta, "z", "?"); },
                  {"meta 7a: unknown key"}},
        PlantCase{"CommitRowMissing",
                  [](RawDb& db) { db.remove(Family::Meta, view(meta_key(MetaTag::Commit))); },
                  {"meta 63: the row is missing"}},
        PlantCase{"NextIdDamaged",
                  [](RawDb& db) { db.put(Family::Meta, view(meta_key(MetaTag::NextId)), "x"); },
                  {"meta 6e: wrong length"}},
        PlantCase{
            "VersionDamaged",
            [](RawDb& db) { db.put(Family::Meta, view(meta_key(MetaTag::FormatVersion)), "x"); },
            {"meta 66: wrong length"}},
        PlantCase{"NewerVersion",
                  [](RawDb& db) {
                    db.put(Family::Meta, view(meta_key(MetaTag::FormatVersion)),
                           view(encode_format_version(99)));
                    db.put(Family::Meta, "z", "of that version");
                  },
                  {"directory : read "}},
        PlantCase{"FamilyOfANewerVersion",
                  [](RawDb& db) { db.add_family("tags"); },
                  {"directory : read "}},
        PlantCase{"PutOverAPut",
                  [](RawDb& db) { db.put(Family::Ready, view(key_one), view(encode(row_one))); },
                  {"ready : it holds 4 rows by the account of its tables, and 3 were found"}},
        PlantCase{"SeveralAtOnce",
                  [](RawDb& db) {
                    db.put(Family::Meta, "z", "?");
                    db.single_delete(Family::Bodies, view(key_one));
                    db.put(Family::Buried, view(job_key(3)), "x");
                    db.put(Family::Bodies, view(key_four), stored_body(4, ""));
                  },
                  {"meta 7a: unknown key", "ready 0000000000000001: the job has no body",
                   "buried 0000000000000003: wrong length",
                   "buried 0000000000000003: the job is also in ready",
                   "bodies 0000000000000004: the body has no job"}}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Keys, Check,
    testing::Values(
        PlantCase{"HeldKey",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k"});
                    put_key(db, 1);
                  },
                  {}},
        PlantCase{"CooldownOfAMissingJob",
                  [](RawDb& db) {
                    remove_job(db, 3);
                    put_key(db, 3, [](KeyStored& key) { key.expires_at = 1; });
                  },
                  {}},
        PlantCase{"KeyForATimeOfAMissingJob",
                  [](RawDb& db) {
                    remove_job(db, 3);
                    put_key(db, 3, [](KeyStored& key) {
                      key.until = KeyUntil::Ttl;
                      key.expires_at = 1;
                    });
                  },
                  {}},
        PlantCase{"CooldownOfATubeThatIsGone",
                  [](RawDb& db) {
                    put_key(db, 1, [](KeyStored& key) {
                      key.tube = "gone";
                      key.expires_at = 1;
                    });
                  },
                  {}},
        PlantCase{"KeyThatWasGivenUp",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k", .given_up = true});
                    give_key(db, 2, {.key = "k"});
                    put_key(db, 2);
                  },
                  {}},
        PlantCase{
            "KeyForATimeThatIsOver",
            [](RawDb& db) { give_key(db, 1, {.key = "k", .seconds = 10, .until = KeyUntil::Ttl}); },
            {}},
        PlantCase{
            "KeyForATimeThatIsNotOver",
            [](RawDb& db) { give_key(db, 1, {.key = "k", .seconds = 11, .until = KeyUntil::Ttl}); },
            {"ready 0000000000000001: the job's key, k, has no row in keys"}},
        PlantCase{"HeldKeyWithoutItsJob",
                  [](RawDb& db) {
                    remove_job(db, 3);
                    put_key(db, 3);
                  },
                  {"keys 046d61696c6b: it is held by job 3, which is missing"}},
        PlantCase{"HeldKeyOfAJobWithoutFields",
                  [](RawDb& db) { put_key(db, 3); },
                  {"keys 046d61696c6b: job 3 does not hold it, and it is not free"}},
        PlantCase{"HeldKeyOfAJobWithAnotherKey",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "other"});
                    put_key(db, 1);
                  },
                  {"ready 0000000000000001: the job's key, other, has no row in keys",
                   "keys 046d61696c6b: job 1 does not hold it, and it is not free"}},
        PlantCase{"HeldKeyThatWasGivenUp",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k", .given_up = true});
                    put_key(db, 1);
                  },
                  {"keys 046d61696c6b: job 1 does not hold it, and it is not free"}},
        PlantCase{"HeldKeyOfAnotherTube",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k"});
                    put_key(db, 1, [](KeyStored& key) { key.tube = "else"; });
                  },
                  {"ready 0000000000000001: the job's key, k, has no row in keys",
                   "keys 04656c73656b: job 1 does not hold it, and it is not free"}},
        PlantCase{"JobWithoutItsKey",
                  [](RawDb& db) { give_key(db, 1, {.key = "k"}); },
                  {"ready 0000000000000001: the job's key, k, has no row in keys"}},
        PlantCase{"TwoHolders",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k"});
                    give_key(db, 2, {.key = "k"});
                    put_key(db, 1);
                  },
                  {"ready 0000000000000002: the job's key, k, is held by job 1"}},
        PlantCase{"HolderInItsCooldown",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k", .seconds = 5});
                    put_key(db, 1, [](KeyStored& key) { key.expires_at = 1; });
                  },
                  {"ready 0000000000000001: the job's key, k, has a row that does not fit"}},
        PlantCase{"HolderForAnotherTime",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k", .until = KeyUntil::Reserved});
                    put_key(db, 1);
                  },
                  {"ready 0000000000000001: the job's key, k, has a row that does not fit"}},
        PlantCase{"KeyOfAJobNotBelowTheNext",
                  [](RawDb& db) { put_key(db, 4, [](KeyStored& key) { key.expires_at = 1; }); },
                  {"keys 046d61696c6b: job 4 is not below the next id, 4"}},
        PlantCase{"KeyRowDamaged",
                  [](RawDb& db) {
                    give_key(db, 1, {.key = "k"});
                    db.put(Family::Keys, key_row_key("mail", "k"), "x");
                  },
                  {"keys 046d61696c6b: wrong length"}},
        PlantCase{"KeyWithAnInvalidName",
                  [](RawDb& db) {
                    put_key(db, 1, [](KeyStored& key) {
                      key.tube = "-t";
                      key.key = "-k";
                      key.expires_at = 1;
                    });
                  },
                  {"keys 022d742d6b: the name is not one that a tube can have",
                   "keys 022d742d6b: the key is not one that a job can have"}},
        PlantCase{"JobWithInvalidNames",
                  [](RawDb& db) {
                    give(db, 1,
                         {.dead = "-d",
                          .from = "-f",
                          .key = JobKey{.key = "-k", .given_up = true},
                          .concurrency = ConcurrencyKey{.key = "-c"}});
                  },
                  {"ready 0000000000000001: the dead tube has a name that no tube can have",
                   "ready 0000000000000001: the tube of origin has a name that no tube can have",
                   "ready 0000000000000001: the concurrency key is not one that a job can have",
                   "ready 0000000000000001: the key is not one that a job can have"}},
        PlantCase{"JobWithAnInvalidField",
                  [](RawDb& db) {
                    give(db, 1, {.tries = 1});
                    std::string row(view(encode(row_one)));
                    row[0] = 2;
                    db.single_delete(Family::Ready, view(key_one));
                    db.put(Family::Ready, view(key_one), row + std::string("\x02\4\0\0\0\0\0", 7));
                  },
                  {"ready 0000000000000001: a field without a value"}},
        PlantCase{"Settings",
                  [](RawDb& db) { put_settings(db, "no-such-tube", {.dead = "nor-this"}); },
                  {}},
        PlantCase{"SettingsWithAnInvalidValue",
                  [](RawDb& db) {
                    db.put(Family::Meta, settings_key("mail"),
                           std::string("\1\x02\4\0\0\0\0\0", 8));
                  },
                  {"meta 736d61696c: tries out of range"}},
        PlantCase{"SettingsWithoutAValue",
                  [](RawDb& db) { db.put(Family::Meta, settings_key("mail"), "\1"); },
                  {"meta 736d61696c: settings without a value"}},
        PlantCase{"SettingsWithInvalidNames",
                  [](RawDb& db) { put_settings(db, "-t", {.dead = "-d"}); },
                  {"meta 732d74: the name is not one that a tube can have",
                   "meta 732d74: the dead tube has a name that no tube can have"}}),
    [](const auto& one) { return one.param.name; });

TEST(CheckDirectory, CountsTheRowsOfAServerAndFindsNoFault) {
  const TempDir dir;
  StoreModel model(support::seed());
  {
    const auto store = Store::open({.data_dir = dir.data_dir()});
    ASSERT_TRUE(store.ok());
    for (int i = 0; i < 200; ++i) {
      Batch batch;
      model.next(batch, 50);
      ASSERT_TRUE((*store)->write(batch, true).ok());
      if (i == 100) {
        ASSERT_TRUE((*store)->flush().ok());
      }
    }
  }
  for (const bool deep : {false, true}) {
    Faults faults;
    const Result<CheckSummary> summary = run_check(dir.data_dir(), deep, faults);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(text_of(faults), "");
    EXPECT_EQ(summary->bodies, model.image().jobs.size() + model.image().ended.size());
    EXPECT_EQ(summary->ended, model.image().ended.size());
    EXPECT_GT(summary->ended, 0U);
    EXPECT_EQ(summary->tubes, model.image().tubes.size());
    EXPECT_EQ(summary->pauses, model.image().pauses.size());
    EXPECT_EQ(summary->settings, model.image().settings.size());
    EXPECT_EQ(summary->keys, model.image().keys.size());
    EXPECT_GT(summary->keys, 0U);
    EXPECT_EQ(summary->schedules, model.image().schedules.size());
    EXPECT_GT(summary->schedules, 0U);
  }
}

struct FlipCase {
  const char* name;
  Family family;
};

void PrintTo(const FlipCase& flip, std::ostream* out) {
  *out << flip.name;
}

class Flip : public testing::TestWithParam<FlipCase> {};

// The flipped byte is in the middle of many blocks. The rest of that family is skipped and
// everything else is checked, without faults for partners that could not be read.
TEST_P(Flip, IsReportedAndHidesNoOtherFault) {
  const TempDir dir;
  make_dir(dir.data_dir(), 3000);
  std::string table;
  {
    RawDb db(dir.data_dir());
    if (GetParam().family == Family::Keys) {
      for (JobId id = 1; id <= 3000; ++id) {
        give_key(db, id, {.key = std::to_string(id)});
        put_key(db, id, [id](KeyStored& key) { key.key = std::to_string(id); });
      }
      db.flush();
    }
    table = db.table_of(GetParam().family);
    db.put(Family::Meta, "z", "?");
  }
  flip_byte(table, fs::file_size(table) / 2);
  Faults faults;
  const Result<CheckSummary> summary = run_check(dir.data_dir(), true, faults);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const std::string family(name_of(GetParam().family));
  const std::string file = fs::path(table).filename();
  ASSERT_EQ(faults.size(), 3u) << text_of(faults);
  EXPECT_TRUE(faults[0].starts_with(family + " " + file + ": the table file is damaged"));
  EXPECT_EQ(faults[1], "meta 7a: unknown key");
  EXPECT_TRUE(faults[2].starts_with(family + " 0")) << faults[2];
  EXPECT_NE(faults[2].find("what is behind this key cannot be read"), std::string::npos);
  EXPECT_EQ(summary->jobs[0] + summary->bodies > 3000, true);
}

INSTANTIATE_TEST_SUITE_P(Store, Flip,
                         testing::Values(FlipCase{"Ready", Family::Ready},
                                         FlipCase{"Bodies", Family::Bodies},
                                         FlipCase{"Keys", Family::Keys}),
                         [](const auto& one) { return one.param.name; });

TEST(CheckDirectory, ADirectoryThatDoesNotOpenIsOneFault) {
  for (const bool truncated : {false, true}) {
    const TempDir dir;
    make_dir(dir.data_dir(), 3);
    const std::string table = RawDb(dir.data_dir()).table_of(Family::Bodies);
    truncated ? fs::resize_file(table, fs::file_size(table) / 2) : (fs::remove(table), void());
    Faults faults;
    const Result<CheckSummary> summary = run_check(dir.data_dir(), false, faults);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    ASSERT_EQ(faults.size(), 1u) << text_of(faults);
    EXPECT_TRUE(faults[0].starts_with("directory : read " + dir.data_dir())) << faults[0];
  }
}

// A start makes the file anew.
TEST(CheckDirectory, ADamagedSlotOfTheDurableMarkIsAFaultWithWhichAServerStarts) {
  const TempDir dir;
  ASSERT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
  const std::string path = dir.data_dir() + "/durable";
  std::string content = content_of(path);
  content[4096 + 30] ^= 1;
  write_file(path, content);
  Faults faults;
  const Result<CheckSummary> summary = run_check(dir.data_dir(), false, faults);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(text_of(faults),
            "directory : the slot at byte 4096 of durable is damaged, in one byte; a start writes "
            "it again\n");
  EXPECT_TRUE(summary->starts);
}

TEST(CheckDirectory, AForeignDirectoryIsOneFault) {
  const TempDir dir;
  write_file(dir.path() + "/photo", "mine");
  Faults faults;
  ASSERT_TRUE(run_check(dir.path(), false, faults).ok());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("it holds photo"), std::string::npos);
}

TEST(CheckDirectory, ReportsWhyItCannotCheck) {
  const TempDir dir;
  Faults faults;
  EXPECT_EQ(run_check(dir.data_dir(), false, faults).status().code(), StatusCode::NotFound);
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(run_check(dir.data_dir(), false, faults).status().code(), StatusCode::Locked);
  EXPECT_TRUE(faults.empty());
}

}  // namespace
}  // namespace perennial::store
