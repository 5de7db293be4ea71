#include "store/offline/check.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/offline/builder.h"
#include "store/store.h"
#include "tests/store/raw_db.h"
#include "tests/store/temp_dir.h"
#include "tests/store/world.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using Faults = std::vector<std::string>;

// Jobs 1 to `jobs`, ready in tube 1, "mail".
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
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 2, .now = 3}, jobs + 1).ok());
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

struct PlantCase {
  const char* name;
  std::function<void(RawDb&)> plant;
  Faults want;  // The beginning of each, in order.
  bool deep = false;
};

void PrintTo(const PlantCase& plant, std::ostream* out) {
  *out << plant.name;
}

class Check : public testing::TestWithParam<PlantCase> {};

TEST_P(Check, FindsExactly) {
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
                    Bytes<64> row = encode(row_four);
                    row[32] = 1;  // An order, in ready.
                    db.put(Family::Ready, view(key_four), view(row));
                    db.put(Family::Bodies, view(key_four), stored_body(4, ""));
                  },
                  {"ready 0000000000000004: order without"}},
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

TEST(CheckDirectory, CountsWhatAServerWroteAndFindsNothing) {
  const TempDir dir;
  World world(support::seed());
  {
    const auto store = Store::open({.data_dir = dir.data_dir()});
    ASSERT_TRUE(store.ok());
    for (int i = 0; i < 200; ++i) {
      Batch batch;
      world.next(batch, 50);
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
    EXPECT_EQ(summary->bodies, world.image().jobs.size());
    EXPECT_EQ(summary->tubes, world.image().tubes.size());
    EXPECT_EQ(summary->pauses, world.image().pauses.size());
  }
}

void flip_byte(const std::string& path, uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  ASSERT_TRUE(file.good());
}

struct FlipCase {
  const char* name;
  Family family;
};

void PrintTo(const FlipCase& flip, std::ostream* out) {
  *out << flip.name;
}

class Flip : public testing::TestWithParam<FlipCase> {};

// In the middle of many blocks: the rest of that family is left out, and everything else goes on,
// without a word about partners that could not be seen.
TEST_P(Flip, IsNamedAndHidesNothingElse) {
  const TempDir dir;
  make_dir(dir.data_dir(), 3000);
  std::string table;
  {
    RawDb db(dir.data_dir());
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
  EXPECT_TRUE(faults[2].starts_with(family + " 00000000")) << faults[2];
  EXPECT_EQ(summary->jobs[0] + summary->bodies > 3000, true);
}

INSTANTIATE_TEST_SUITE_P(Store, Flip,
                         testing::Values(FlipCase{"Ready", Family::Ready},
                                         FlipCase{"Bodies", Family::Bodies}),
                         [](const auto& one) { return one.param.name; });

TEST(CheckDirectory, WhatDoesNotOpenIsOneFault) {
  for (const bool cut : {false, true}) {
    const TempDir dir;
    make_dir(dir.data_dir(), 3);
    const std::string table = RawDb(dir.data_dir()).table_of(Family::Bodies);
    cut ? fs::resize_file(table, fs::file_size(table) / 2) : (fs::remove(table), void());
    Faults faults;
    const Result<CheckSummary> summary = run_check(dir.data_dir(), false, faults);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    ASSERT_EQ(faults.size(), 1u) << text_of(faults);
    EXPECT_TRUE(faults[0].starts_with("directory : read " + dir.data_dir())) << faults[0];
  }
}

TEST(CheckDirectory, WhatIsNotOursIsOneFault) {
  const TempDir dir;
  write_file(dir.path() + "/photo", "mine");
  Faults faults;
  ASSERT_TRUE(run_check(dir.path(), false, faults).ok());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("it holds photo"), std::string::npos);
}

TEST(CheckDirectory, SaysWhyItCannotLook) {
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
