#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/dump/commands.h"
#include "cmd/perennial/offline/commands.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/checkpoint_names.h"
#include "store/format/format.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/store/dir_state.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"

// P11, with the commands that an operator types: dump, load, check and repair.
namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using store::DamageCase;
using store::Family;
using store::Part;

class DamagedDirectory : public testing::TestWithParam<DamageCase> {
 protected:
  DamagedDirectory() {
    store::copy_dir_to_damage(data());
    store::damage_table(data(), GetParam());
  }

  std::string data() const { return dir_.data_dir(); }
  Captured run_check() const {
    return capture(dir_.path(), [&](int fd) { return check({.data_dir = data()}, fd); });
  }
  json check_json() const {
    const Captured out =
        capture(dir_.path(), [&](int fd) { return check({.data_dir = data(), .json = true}, fd); });
    return json::parse(out.text, nullptr, false);
  }

  const store::TempDir dir_;
};

std::string last_line(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// The ids of the jobs of a directory that a server would start on.
std::set<JobId> jobs_of(const std::string& path) {
  const auto opened = store::Store::open({.data_dir = path});
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  if (!opened.ok()) return {};
  const Result<store::Image> image = store::read_image(**opened);
  EXPECT_TRUE(image.ok()) << image.status().message();
  std::set<JobId> out;
  if (!image.ok()) return out;
  for (const auto& [id, row] : image->jobs) {
    const auto body = (*opened)->read_body(id);
    EXPECT_TRUE(body.ok() && body->view() == store::body_of(id)) << id;
    out.insert(id);
  }
  return out;
}

std::set<JobId> ids_of(const json& ids) {
  return ids.get<std::set<JobId>>();
}

TEST_P(DamagedDirectory, IsDumpedWithAllThatCanBeRead) {
  const std::string jsonl = dir_.path() + "/jobs.jsonl";
  const int file = ::open(jsonl.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const Status dumped = dump({.data_dir = data()}, file);
  ::close(file);
  const json advice = check_json()["advice"];
  const bool costs_jobs = advice.is_object() && advice["jobs_lost"] > 0;
  if (costs_jobs) {
    EXPECT_EQ(dumped.code(), StatusCode::Corruption);
  }
  // The command that the message ends with takes the dump.
  const bool skips_damaged = dumped.message().ends_with(" --skip-damaged");
  const std::string made = dir_.path() + "/made";
  const Captured loaded = capture(dir_.path(), [&](int fd) {
    return load({.data_dir = made, .from = jsonl, .skip_damaged = skips_damaged}, fd);
  });
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
  const uint64_t lost = costs_jobs ? advice["jobs_lost"].get<uint64_t>() : 0;
  EXPECT_EQ(jobs_of(made).size(), store::damaged_dir_jobs - lost);
}

TEST_P(DamagedDirectory, IsRepairedAsAnnounced) {
  const json advice = check_json()["advice"];
  if (!advice.is_object() || advice["action"] != "repair") return;
  const Captured refused =
      capture(dir_.path(), [&](int fd) { return repair({.data_dir = data()}, fd); });
  EXPECT_EQ(refused.status.code(), StatusCode::InvalidArgument);
  const Captured repaired = capture(dir_.path(), [&](int fd) {
    return repair({.data_dir = data(), .yes = true, .json = true}, fd);
  });
  ASSERT_TRUE(repaired.status.ok()) << repaired.status.message();
  const json said = json::parse(repaired.text, nullptr, false);
  EXPECT_EQ(said["jobs_kept"], advice["jobs_kept"]);
  const std::set<JobId> kept = jobs_of(data());
  std::set<JobId> lost = ids_of(said["rows_lost"]);
  lost.merge(ids_of(said["bodies_lost"]));
  EXPECT_EQ(kept.size(), said["jobs_kept"]);
  for (JobId id = 1; id <= store::damaged_dir_jobs; ++id) {
    EXPECT_NE(kept.contains(id), lost.contains(id)) << id;
  }
  const std::string aside = said["aside"].get<std::string>();
  uint64_t lines = 0;
  for (const char byte : read_file(aside + "/lost-jobs.jsonl")) lines += byte == '\n';
  EXPECT_EQ(lines, lost.size());
  // The damaged database is kept, and every tool reads it.
  EXPECT_TRUE(store::Reader::open({.path = aside, .salvage = true}).ok());
  EXPECT_TRUE(run_check().status.ok()) << run_check().text;
}

TEST_P(DamagedDirectory, IsCheckedAndTheLastLineSaysWhatToDo) {
  const Captured out = run_check();
  if (out.status.ok()) return;  // Nothing of it matters.
  const std::string line = last_line(out.text);
  EXPECT_TRUE(line.starts_with("to do: perenniald -b " + data()) ||
              line.starts_with("to do: perennial repair --data-dir " + data()))
      << out.text;
  // What a start does not read is contained by the running server.
  const bool is_contained =
      !store::is_loaded(GetParam().family) &&
      (GetParam().part == Part::DataBlock || GetParam().part == Part::FirstBlock ||
       GetParam().part == Part::LastBlock);
  EXPECT_EQ(line.starts_with("to do: perenniald"), is_contained) << out.text;
}

// The directory of one damaged table, a checkpoint from before the damage, and one of another
// database.
class LostIdentity : public testing::Test {
 protected:
  LostIdentity() {
    own_ = make_with_checkpoint(dir_.data_dir());
    other_ = make_with_checkpoint(dir_.path() + "/other");
    store::damage_table(dir_.data_dir(), {.family = Family::Bodies, .part = Part::DataBlock});
    fs::remove(dir_.data_dir() + "/db/IDENTITY");
  }

  std::string make_with_checkpoint(const std::string& path) const {
    store::make_dir_to_damage(path);
    store::CheckpointPlan plan = {.dir = path + "/checkpoints",
                                  .name = store::checkpoint_name(nanos_per_second)};
    auto store = store::Store::open({.data_dir = path});
    EXPECT_TRUE(store.ok());
    EXPECT_TRUE(store::read_image(**store).ok());
    plan.database = (*store)->identity();
    plan.index = (*store)->opening().last_index;
    fs::create_directories(plan.dir);
    EXPECT_TRUE((*store)->create_checkpoint(store::partial_path(plan)).ok());
    EXPECT_TRUE((*store)->close(store::damaged_dir_jobs + 1).ok());
    EXPECT_TRUE(store::complete_checkpoint(plan).ok());
    return plan.dir + "/" + plan.name;
  }
  Captured run_repair(const std::string& checkpoint) const {
    return capture(dir_.path(), [&](int fd) {
      return repair(
          {.data_dir = dir_.data_dir(), .checkpoint = checkpoint, .yes = true, .json = true}, fd);
    });
  }

  const store::TempDir dir_;
  std::string own_;
  std::string other_;
};

TEST_F(LostIdentity, TheTablesStillSayWhoseTheyAre) {
  const Captured out = run_repair(other_);
  EXPECT_EQ(out.status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(out.status.message().find("is no checkpoint of the database"), std::string::npos)
      << out.status.message();
}

TEST_F(LostIdentity, ACheckpointIsTakenWhereItIsNamed) {
  testing::internal::CaptureStderr();
  const Captured out = run_repair(own_);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_EQ(json::parse(out.text)["jobs_lost"], 0);
  EXPECT_NE(said.find("warning: " + dir_.data_dir() + "/db has lost its file IDENTITY"),
            std::string::npos)
      << said;
  EXPECT_EQ(jobs_of(dir_.data_dir()).size(), store::damaged_dir_jobs);
}

// Without the names of the families nothing can be read, and the checkpoint can.
TEST_F(LostIdentity, DamageAtTheBeginningOfTheManifestIsToBeRestored) {
  const std::string path = dir_.path() + "/manifest";
  const std::string checkpoint = make_with_checkpoint(path);
  const std::string manifest = store::manifest_of(path);
  const std::string content = store::content_of(manifest);
  for (const uint64_t at : {5, 60, 120, 200}) {
    store::write_file(manifest, content);
    store::flip_byte(manifest, at);
    const Captured out =
        capture(dir_.path(), [&](int fd) { return check({.data_dir = path}, fd); });
    EXPECT_TRUE(last_line(out.text).starts_with("to do: perennial restore --from " + checkpoint))
        << at << ": " << out.text;
  }
}

// The names of the tubes are lost, and the report has the ids of their jobs.
TEST_F(LostIdentity, TheJobsOfTubesWithoutANameAreListed) {
  const std::string path = dir_.path() + "/names";
  store::make_dir_to_damage(path);
  store::damage_table(path, {.family = Family::Meta, .part = Part::DataBlock});
  const Captured out = capture(dir_.path(), [&](int fd) {
    return repair({.data_dir = path, .checkpoint = "none", .json = true}, fd);
  });
  const json plan = json::parse(out.text, nullptr, false);
  ASSERT_TRUE(plan.is_object()) << out.text;
  EXPECT_GT(plan["tubes_renamed"], 0);
  EXPECT_GE(plan["jobs_in_renamed_tubes"].size(), plan["tubes_renamed"]);
  EXPECT_TRUE(plan["rows_older"].is_array());
}

// Without --yes it says what it would do, and changes nothing.
TEST_F(LostIdentity, ThePlanIsJsonToo) {
  const Captured out = capture(dir_.path(), [&](int fd) {
    return repair({.data_dir = dir_.data_dir(), .checkpoint = own_, .json = true}, fd);
  });
  EXPECT_EQ(out.status.code(), StatusCode::InvalidArgument);
  const json plan = json::parse(out.text, nullptr, false);
  ASSERT_TRUE(plan.is_object()) << out.text;
  EXPECT_EQ(plan["jobs_lost"], 0);
  EXPECT_EQ(plan["jobs_kept"], store::damaged_dir_jobs);
  EXPECT_FALSE(plan.contains("aside"));
}

std::string case_name(const testing::TestParamInfo<DamageCase>& one) {
  return store::name_of(one.param);
}

INSTANTIATE_TEST_SUITE_P(Salvage, DamagedDirectory, testing::ValuesIn(store::all_damages()),
                         case_name);

}  // namespace
}  // namespace perennial::tool
