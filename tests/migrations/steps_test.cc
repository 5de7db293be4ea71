#include "migrations/steps.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "store/checkpoint/checkpoint.h"
#include "store/offline/check.h"
#include "store/offline/restore.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/golden/listing.h"
#include "tests/migrations/rename_family.h"
#include "tests/migrations/widen_rows.h"
#include "tests/support/temp_dir.h"

// Every golden directory is unchanged and can be migrated to the newest format. Steps that exist
// only in tests lead beyond it, and show that migrations work.
namespace perennial::migrations {
namespace {

namespace fs = std::filesystem;

constexpr Nanos now = 1'795'264'805'123'000'000;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns every file below a directory, with its content.
std::map<std::string, std::string> files_of(const std::string& dir) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file()) out[entry.path()] = read_file(entry.path());
  }
  return out;
}

// The format that the steps of tests lead to.
constexpr uint32_t beyond = store::format_version + 1;

// The options of a program that reads and writes only that format.
store::Options of_newer(const std::string& path,
                        std::span<const store::FamilyNames> families = store::format_families) {
  return {.data_dir = path, .format = beyond, .format_min = beyond, .families = families};
}

// Returns the listing without the commit row, which each open changes, and without the next id,
// which a start may raise.
std::string lasting(const std::string& listing) {
  return listing.substr(listing.find("\ntube"));
}

class Golden : public testing::TestWithParam<const char*> {
 protected:
  Golden() : original_(std::string(GOLDEN_DIR) + "/" + GetParam()), path_(dir_.path() + "/data") {
    fs::copy(original_, path_, fs::copy_options::recursive);
  }

  std::string listing() const { return read_file(original_ + ".txt"); }
  uint32_t format() const {
    return static_cast<uint32_t>(GetParam()[std::string_view("format_").size()] - '0');
  }
  // A migration by all steps and this one.
  Migration with(const Step& step) const {
    Migration how = {.data_dir = path_, .to = beyond, .now = now, .server_version = "0.2.0"};
    how.steps.push_back(step);
    return how;
  }
  Migration widening() const { return with(widen_rows_step()); }
  Migration renaming(const Step& step = rename_family_step()) const {
    Migration how = with(step);
    how.families = renamed_families();
    return how;
  }
  // The names of all steps from the directory's format on, and this one.
  std::vector<std::string> names_with(const std::string& last) const {
    std::vector<std::string> names;
    for (const Step& step : all_steps()) {
      if (step.from >= format()) names.push_back(step.name);
    }
    names.push_back(last);
    return names;
  }
  // Expects that the tools of this program refuse the directory, and that their message contains
  // `why`.
  void expect_named(std::string_view why) const {
    const auto reader = store::Reader::open({.path = path_});
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.status().code(), StatusCode::Unsupported);
    EXPECT_NE(reader.status().message().find(why), std::string::npos) << reader.status().message();
    std::string said;
    const auto checked = store::check_directory(
        {.path = path_, .fault = [&said](const store::Fault& fault) { said += fault.what; }});
    ASSERT_TRUE(checked.ok()) << checked.status().message();
    EXPECT_EQ(checked->faults, 1U);
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }

  const support::TempDir dir_;
  const std::string original_;
  const std::string path_;
};

// Those that a program serves as they are, and those that it migrates.
class ServedGolden : public Golden {};
class OlderGolden : public Golden {};

TEST_P(ServedGolden, HasTheContentOfItsListing) {
  const Result<std::string> listed = golden::list(path_);
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(*listed, listing());
}

TEST_P(Golden, KeepsItsContentOverAStart) {
  const Result<Migrated> migrated = migrate({.data_dir = path_, .now = now});
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  {
    auto store = store::Store::open({.data_dir = path_});
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE((*store)->close((*store)->opening().next_id).ok());
  }
  const Result<std::string> listed = golden::list(path_);
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(lasting(*listed), lasting(listing()));
}

TEST_P(ServedGolden, HasNothingToMigrate) {
  const auto before = files_of(path_);
  const Result<Migrated> migrated = migrate({.data_dir = path_, .now = now});
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_TRUE(migrated->steps.empty());
  EXPECT_EQ(migrated->from, format());
  EXPECT_EQ(migrated->to, format());
  EXPECT_EQ(migrated->checkpoint, "");
  EXPECT_EQ(files_of(path_), before);
}

// It keeps its format until then, and its rows beside that.
TEST_P(ServedGolden, GetsTheNewestFormatWithItsFirstNote) {
  JobRow job;
  const auto load = [&](store::Store& store) {
    return store.load({.tube = [](TubeId, std::string_view) { return Status(); },
                       .pause = [](const TubePaused&) { return Status(); },
                       .settings = [](const SettingsStored&) { return Status(); },
                       .job =
                           [&job](const JobRow& row) {
                             if (job.id == 0) job = row;
                             return Status();
                           },
                       .key = [](const KeyStored&) { return Status(); }});
  };
  for (const bool has_note : {false, true}) {
    auto store = store::Store::open({.data_dir = path_});
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE(load(**store).ok());
    if (has_note) {
      const JobState before = job.state;
      if (!job.fields) job.fields = JobFields{};
      const Note note = {.number = ++job.fields->notes, .time = 1, .user = {}, .text = "why"};
      store::Batch batch;
      batch.add(JobMoved{.id = job.id, .before = before, .after = job, .promised = true});
      batch.add(NoteStored{.job = job.id, .note = note});
      const store::Opening& opening = (*store)->opening();
      batch.seal({.epoch = opening.epoch,
                  .index = opening.last_index + 1,
                  .known_durable = opening.last_index,
                  .now = opening.last_now});
      ASSERT_TRUE((*store)->write(batch, true).ok());
      const auto notes = (*store)->read_notes(job.id);
      ASSERT_TRUE(notes.ok());
      EXPECT_EQ(notes->back(), note);
    }
    ASSERT_TRUE((*store)->close((*store)->opening().next_id).ok());
    store = Status(StatusCode::Io, "closed");
    const auto reader = store::Reader::open({.path = path_});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->format(), has_note ? std::max(3U, format()) : format());
    const Result<std::string> listed = golden::list(path_);
    ASSERT_TRUE(listed.ok());
    EXPECT_TRUE(has_note || lasting(*listed) == lasting(listing())) << *listed;
  }
  const auto checked = store::check_directory({.path = path_, .deep = true});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->faults, 0U);
}

// A server, a reader and a check name the command and change nothing. After it there is no fault,
// and no row but the format version has changed.
TEST_P(OlderGolden, IsRefusedUntilItIsMigrated) {
  const auto files = files_of(path_);
  const std::string rows = raw_rows(path_);
  const std::string why = fmt::format(
      "its format is {}, and this program reads and writes 2 to 5: run perennial "
      "migrate --data-dir {}",
      format(), path_);
  const auto store = store::Store::open({.data_dir = path_});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Unsupported);
  EXPECT_NE(store.status().message().find(why), std::string::npos) << store.status().message();
  expect_named(why);
  EXPECT_EQ(files_of(path_), files);

  const Result<Migrated> migrated = migrate({.data_dir = path_, .now = now});
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_EQ(migrated->steps, std::vector<std::string>{"0002_add_keys"});
  EXPECT_EQ(raw_rows(path_), in_format(2, rows));
  const auto checked = store::check_directory({.path = path_, .deep = true});
  ASSERT_TRUE(checked.ok()) << checked.status().message();
  EXPECT_EQ(checked->faults, 0U);
  EXPECT_TRUE(store::Store::open({.data_dir = path_}).ok());
}

TEST_P(Golden, IsMigratedAfterACheckpoint) {
  const std::string before = raw_rows(path_);
  const Result<Migrated> migrated = migrate(widening());
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_EQ(migrated->from, format());
  EXPECT_EQ(migrated->to, beyond);
  EXPECT_EQ(migrated->steps, names_with("0006_widen_rows"));
  EXPECT_EQ(raw_rows(path_), widened(before));

  const auto checkpoint = store::verify_checkpoint(migrated->checkpoint);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->format, format());
  const std::string back = dir_.path() + "/back";
  const auto restored =
      store::restore_checkpoint({.from = migrated->checkpoint, .to = back, .skip_ids = 0});
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(raw_rows(back), before);
}

TEST_P(Golden, IsMigratedOnce) {
  ASSERT_TRUE(migrate(widening()).ok());
  const auto after = files_of(path_);
  const Result<Migrated> again = migrate(widening());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->steps.empty());
  EXPECT_EQ(again->checkpoint, "");
  EXPECT_EQ(files_of(path_), after);
}

TEST_P(Golden, IsNotChangedByADryRun) {
  const auto before = files_of(path_);
  Migration how = widening();
  how.dry_run = true;
  const Result<Migrated> migrated = migrate(how);
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_EQ(migrated->steps, names_with("0006_widen_rows"));
  EXPECT_EQ(files_of(path_), before);
}

// The store refuses the directory, names the command, and changes no byte.
TEST_P(Golden, IsRefusedByAProgramOfANewerFormat) {
  const auto before = files_of(path_);
  const auto store = store::Store::open(of_newer(path_));
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Unsupported);
  EXPECT_NE(store.status().message().find("perennial migrate --data-dir " + path_),
            std::string::npos)
      << store.status().message();
  EXPECT_EQ(files_of(path_), before);
}

TEST_P(Golden, IsRefusedByAProgramOfAnOlderFormat) {
  ASSERT_TRUE(migrate(widening()).ok());
  const auto before = files_of(path_);
  const auto store = store::Store::open({.data_dir = path_});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Unsupported);
  EXPECT_NE(store.status().message().find("a newer program"), std::string::npos)
      << store.status().message();
  const auto reader = store::Reader::open({.path = path_});
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), StatusCode::Unsupported);
  const auto migrated = migrate({.data_dir = path_});
  ASSERT_FALSE(migrated.ok());
  EXPECT_EQ(migrated.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(files_of(path_), before);
}

// Returns a step that fails after `commits` batches, as with a disk that fails. Counts its runs in
// `runs`.
Step stopping_after(Step step, int commits, const std::string& progress, int& runs) {
  step.run = [commits, progress, &runs](Rewrite& rewrite) -> Status {
    ++runs;
    if (commits > 0) {
      rocksdb::WriteBatch batch = rewrite.new_batch();
      Status done = rewrite.commit(batch, progress);
      if (!done.ok()) return done;
    }
    return {StatusCode::Io, "the disk is gone"};
  };
  return step;
}

TEST_P(Golden, IsRefusedAfterAnInterruptedMigration) {
  const std::string before = raw_rows(path_);
  int runs = 0;
  const Result<Migrated> stopped = migrate(with(stopping_after(widen_rows_step(), 1, "", runs)));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().message(), "0006_widen_rows: the disk is gone");
  for (const store::Options& program : {store::Options{.data_dir = path_}, of_newer(path_)}) {
    const auto store = store::Store::open(program);
    ASSERT_FALSE(store.ok());
    EXPECT_NE(store.status().message().find("cut short: run perennial migrate --data-dir"),
              std::string::npos)
        << store.status().message();
  }
  const auto reader = store::Reader::open({.path = path_});
  ASSERT_FALSE(reader.ok());
  EXPECT_NE(reader.status().message().find("cut short"), std::string::npos);
  // This migration has no such step.
  const auto unknown = migrate({.data_dir = path_, .now = now});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::Unsupported);

  const Result<Migrated> resumed = migrate(widening());
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_TRUE(resumed->resumed);
  EXPECT_EQ(resumed->checkpoint, "");
  EXPECT_EQ(raw_rows(path_), widened(before));
}

TEST_P(Golden, IsMigratedToOtherFamilies) {
  const std::string before = raw_rows(path_);
  const Result<Migrated> migrated = migrate(renaming());
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_EQ(raw_rows(path_), renamed(before));
  expect_named("its format is 6, which only a newer program reads");

  const auto after = files_of(path_);
  const Result<Migrated> again = migrate(renaming());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->steps.empty());
  EXPECT_EQ(files_of(path_), after);
}

// The newer format has a family that the directory lacks, and lacks one that the directory has.
TEST_P(Golden, IsOlderForAProgramWithOtherFamilies) {
  const auto before = files_of(path_);
  const auto store = store::Store::open(of_newer(path_, renamed_families()));
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Unsupported);
  const std::string why =
      fmt::format("its format is {}, and this program reads and writes 6:", format());
  EXPECT_NE(store.status().message().find(why), std::string::npos) << store.status().message();
  EXPECT_EQ(files_of(path_), before);
}

TEST_P(Golden, IsRefusedAfterAnInterruptedMoveOfFamilies) {
  const std::string before = raw_rows(path_);
  int runs = 0;
  for (const int commits : {0, 1}) {
    const Result<Migrated> stopped =
        migrate(renaming(stopping_after(rename_family_step(), commits, "begun", runs)));
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.status().message(), "0006_rename_family: the disk is gone");
    expect_named("a migration of it to format 6 was cut short: run perennial migrate");
    const auto store = store::Store::open(of_newer(path_, renamed_families()));
    ASSERT_FALSE(store.ok());
    EXPECT_NE(store.status().message().find("was cut short"), std::string::npos)
        << store.status().message();
  }
  const Result<Migrated> resumed = migrate(renaming());
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_TRUE(resumed->resumed);
  EXPECT_EQ(raw_rows(path_), renamed(before));
}

TEST_P(ServedGolden, IsNotMigratedWhileAServerRuns) {
  const auto store = store::Store::open({.data_dir = path_});
  ASSERT_TRUE(store.ok());
  const auto migrated = migrate(widening());
  ASSERT_FALSE(migrated.ok());
  EXPECT_EQ(migrated.status().code(), StatusCode::Locked);
}

TEST_P(Golden, IsNotMigratedWithoutSteps) {
  const auto before = files_of(path_);
  Migration how = widening();
  how.to = beyond + 1;
  const auto migrated = migrate(how);
  ASSERT_FALSE(migrated.ok());
  EXPECT_EQ(migrated.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(files_of(path_), before);
}

std::string name_of(const testing::TestParamInfo<const char*>& one) {
  std::string name = one.param;
  std::ranges::replace(name, '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Steps, Golden,
                         testing::Values("format_1/clean", "format_1/killed", "format_2/clean",
                                         "format_2/killed", "format_3/clean", "format_3/killed",
                                         "format_4/clean", "format_4/killed", "format_5/clean",
                                         "format_5/killed"),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Steps, ServedGolden,
                         testing::Values("format_2/clean", "format_2/killed", "format_3/clean",
                                         "format_3/killed", "format_4/clean", "format_4/killed",
                                         "format_5/clean", "format_5/killed"),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Steps, OlderGolden, testing::Values("format_1/clean", "format_1/killed"),
                         name_of);

TEST(Steps, LeadFromFormat1ToTheOldestThatIsServed) {
  uint32_t format = 1;
  for (const Step& step : all_steps()) {
    EXPECT_EQ(step.from, format);
    EXPECT_EQ(step.to, format + 1);
    ++format;
  }
  EXPECT_EQ(format, store::format_base);
}

TEST(Steps, DoNotMakeAMissingDirectory) {
  const support::TempDir dir;
  const auto migrated = migrate({.data_dir = dir.path() + "/none"});
  ASSERT_FALSE(migrated.ok());
  EXPECT_EQ(migrated.status().code(), StatusCode::NotFound);
  EXPECT_FALSE(fs::exists(dir.path() + "/none"));
}

}  // namespace
}  // namespace perennial::migrations
