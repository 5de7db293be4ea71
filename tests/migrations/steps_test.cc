#include "migrations/steps.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

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

// Every golden directory is what it was, and is walked to the newest format; and steps can be
// relied on, by one that exists only here.
namespace perennial::migrations {
namespace {

namespace fs = std::filesystem;

constexpr Nanos now = 1'795'264'805'123'000'000;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every file below, with its content.
std::map<std::string, std::string> files_of(const std::string& dir) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file()) out[entry.path()] = read_file(entry.path());
  }
  return out;
}

// Without the commit row, which each open counts up, and the next id, which a start may raise.
std::string lasting(const std::string& listing) {
  return listing.substr(listing.find("\ntube"));
}

class Golden : public testing::TestWithParam<const char*> {
 protected:
  Golden() : original_(std::string(GOLDEN_DIR) + "/" + GetParam()), path_(dir_.path() + "/data") {
    fs::copy(original_, path_, fs::copy_options::recursive);
  }

  std::string listing() const { return read_file(original_ + ".txt"); }
  Migration widening() const {
    return {.data_dir = path_,
            .steps = {widen_rows_step()},
            .to = 2,
            .now = now,
            .server_version = "0.2.0"};
  }

  Migration renaming() const {
    Migration how = widening();
    how.steps = {rename_family_step()};
    how.families = renamed_families();
    return how;
  }
  // What the tools of a program of format 1 say of it: that they cannot read it, and why.
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

TEST_P(Golden, IsReadAsItIsWrittenDown) {
  const Result<std::string> listed = golden::list(path_);
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(*listed, listing());
}

TEST_P(Golden, StartsAndKeepsEverything) {
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

TEST_P(Golden, HasNothingToBeDoneToInTheNewestFormat) {
  if (!std::string(GetParam()).starts_with("format_1/")) GTEST_SKIP();
  const auto before = files_of(path_);
  const Result<Migrated> migrated = migrate({.data_dir = path_, .now = now});
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_TRUE(migrated->steps.empty());
  EXPECT_EQ(files_of(path_), before);
}

TEST_P(Golden, IsMigratedAfterACheckpoint) {
  const std::string before = raw_rows(path_);
  const Result<Migrated> migrated = migrate(widening());
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_EQ(migrated->from, 1U);
  EXPECT_EQ(migrated->to, 2U);
  EXPECT_EQ(migrated->steps, std::vector<std::string>{"0002_widen_rows"});
  EXPECT_EQ(raw_rows(path_), widened(before));

  const auto checkpoint = store::verify_checkpoint(migrated->checkpoint);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->format, 1U);
  const std::string back = dir_.path() + "/back";
  const auto restored =
      store::restore_checkpoint({.from = migrated->checkpoint, .to = back, .skip_ids = 0});
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  const Result<std::string> listed = golden::list(back);
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(*listed, listing());
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

TEST_P(Golden, IsLeftAloneByADryRun) {
  const auto before = files_of(path_);
  Migration how = widening();
  how.dry_run = true;
  const Result<Migrated> migrated = migrate(how);
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_EQ(migrated->steps, std::vector<std::string>{"0002_widen_rows"});
  EXPECT_EQ(files_of(path_), before);
}

// Both ways in refuse, name the command, and leave every byte.
TEST_P(Golden, IsRefusedByAProgramOfANewerFormat) {
  const auto before = files_of(path_);
  const auto store = store::Store::open({.data_dir = path_, .format = 2});
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

// Stops after so many batches, as a disk that fails would make it.
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

TEST_P(Golden, IsRefusedWhereAMigrationWasCutShort) {
  const std::string before = raw_rows(path_);
  int runs = 0;
  Migration how = widening();
  how.steps = {stopping_after(widen_rows_step(), 1, "", runs)};
  const Result<Migrated> stopped = migrate(how);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().message(), "0002_widen_rows: the disk is gone");
  for (const uint32_t format : {1U, 2U}) {
    const auto store = store::Store::open({.data_dir = path_, .format = format});
    ASSERT_FALSE(store.ok());
    EXPECT_NE(store.status().message().find("cut short: run perennial migrate --data-dir"),
              std::string::npos)
        << store.status().message();
  }
  const auto reader = store::Reader::open({.path = path_});
  ASSERT_FALSE(reader.ok());
  EXPECT_NE(reader.status().message().find("cut short"), std::string::npos);
  // This program has no such step.
  const auto unknown = migrate({.data_dir = path_, .now = now});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::Unsupported);

  const Result<Migrated> resumed = migrate(widening());
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_TRUE(resumed->resumed);
  EXPECT_EQ(resumed->checkpoint, "");
  EXPECT_EQ(raw_rows(path_), widened(before));
}

TEST_P(Golden, GetsAndLosesFamilies) {
  const std::string before = raw_rows(path_);
  const Result<Migrated> migrated = migrate(renaming());
  ASSERT_TRUE(migrated.ok()) << migrated.status().message();
  EXPECT_EQ(raw_rows(path_), renamed(before));
  expect_named("its format is 2, which only a newer program reads");

  const auto after = files_of(path_);
  const Result<Migrated> again = migrate(renaming());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->steps.empty());
  EXPECT_EQ(files_of(path_), after);
}

// Both of what it had and of what it lacks.
TEST_P(Golden, IsOlderForAProgramWithOtherFamilies) {
  const auto before = files_of(path_);
  const auto store =
      store::Store::open({.data_dir = path_, .format = 2, .families = renamed_families()});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Unsupported);
  EXPECT_NE(store.status().message().find("its format is 1, and this program reads and writes 2"),
            std::string::npos)
      << store.status().message();
  EXPECT_EQ(files_of(path_), before);
}

TEST_P(Golden, IsRefusedWhereFamiliesAreBeingMoved) {
  const std::string before = raw_rows(path_);
  int runs = 0;
  for (const int commits : {0, 1}) {
    Migration how = renaming();
    how.steps = {stopping_after(rename_family_step(), commits, "begun", runs)};
    const Result<Migrated> stopped = migrate(how);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.status().message(), "0002_rename_family: the disk is gone");
    expect_named("a migration of it to format 2 was cut short: run perennial migrate");
    const auto store =
        store::Store::open({.data_dir = path_, .format = 2, .families = renamed_families()});
    ASSERT_FALSE(store.ok());
    EXPECT_NE(store.status().message().find("was cut short"), std::string::npos)
        << store.status().message();
  }
  const Result<Migrated> resumed = migrate(renaming());
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_TRUE(resumed->resumed);
  EXPECT_EQ(raw_rows(path_), renamed(before));
}

TEST_P(Golden, IsNotMigratedUnderAServer) {
  const auto store = store::Store::open({.data_dir = path_});
  ASSERT_TRUE(store.ok());
  const auto migrated = migrate(widening());
  ASSERT_FALSE(migrated.ok());
  EXPECT_EQ(migrated.status().code(), StatusCode::Locked);
}

TEST_P(Golden, IsNotMigratedWithoutAWay) {
  const auto before = files_of(path_);
  Migration how = widening();
  how.to = 3;
  const auto migrated = migrate(how);
  ASSERT_FALSE(migrated.ok());
  EXPECT_EQ(migrated.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(files_of(path_), before);
}

INSTANTIATE_TEST_SUITE_P(Steps, Golden, testing::Values("format_1/clean", "format_1/killed"),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& byte : name) {
                             if (byte == '/') byte = '_';
                           }
                           return name;
                         });

TEST(Steps, LeadToThisFormatOneByOne) {
  uint32_t format = 1;
  for (const Step& step : all_steps()) {
    EXPECT_EQ(step.from, format);
    EXPECT_EQ(step.to, format + 1);
    ++format;
  }
  EXPECT_EQ(format, store::format_version);
}

TEST(Steps, MakeNoDirectoryWhereThereIsNone) {
  const support::TempDir dir;
  const auto migrated = migrate({.data_dir = dir.path() + "/none"});
  ASSERT_FALSE(migrated.ok());
  EXPECT_EQ(migrated.status().code(), StatusCode::NotFound);
  EXPECT_FALSE(fs::exists(dir.path() + "/none"));
}

}  // namespace
}  // namespace perennial::migrations
