#include "store/recovery/recovery.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/rocks/log_files.h"
#include "tests/store/dir_state.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

// How a start truncates files by its plan, and what a crash during that leaves.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using support::FaultFs;
using support::Loss;

const RecoveryPlan plan = {
    .manifest_truncation =
        ManifestTruncation{.file = "MANIFEST-000009", .offset = 5, .fields = "manifest"},
    .log = {.last = {},
            .truncation = LogTruncation{.file = "000010.log",
                                        .offset = 7,
                                        .later_files = {"000012.log", "000014.log"},
                                        .fields = "log"},
            .losses = {},
            .empty_files = {}}};

std::string make_files(const std::string& dir) {
  const std::string db = dir + "/db";
  fs::create_directories(db);
  for (const char* name : {"000010.log", "000012.log", "000014.log", "MANIFEST-000009"}) {
    write_file(db + "/" + name, "0123456789");
  }
  write_file(db + "/newest-log-14", "");
  return db;
}

std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(Recovery, FilesAreTruncatedByThePlanAndReported) {
  const TempDir dir;
  const std::string db = make_files(dir.path());
  std::string events;
  Options options;
  options.events.info = [&events](std::string_view at, std::string_view fields) {
    events += std::string(at) + " " + std::string(fields) + "\n";
  };
  ASSERT_TRUE(truncate_files(db, options, plan).ok());
  EXPECT_EQ(names_in(db),
            (std::vector<std::string>{"000010.log", "MANIFEST-000009", "newest-log-10"}));
  EXPECT_EQ(content_of(db + "/000010.log"), "0123456");
  EXPECT_EQ(content_of(db + "/MANIFEST-000009"), "01234");
  EXPECT_EQ(events, "store.manifest_cut manifest\nstore.log_cut log\n");
}

// The next start must not find a file missing that the mark or the MANIFEST names.
TEST(Recovery, AForcedCutKeepsTheNamesOfLogFiles) {
  const TempDir dir;
  const std::string db = make_files(dir.path());
  RecoveryPlan forced = plan;
  forced.log.losses = {"something"};
  forced.log.empty_files = {"000014.log", "000016.log"};
  std::string events;
  Options options;
  options.events.info = [&events](std::string_view at, std::string_view fields) {
    events += std::string(at) + " " + std::string(fields) + "\n";
  };
  ASSERT_TRUE(truncate_files(db, options, forced).ok());
  EXPECT_EQ(names_in(db), (std::vector<std::string>{"000010.log", "000014.log", "000016.log",
                                                    "MANIFEST-000009", "newest-log-14"}));
  EXPECT_EQ(content_of(db + "/000010.log"), "0123456");
  EXPECT_EQ(content_of(db + "/000014.log"), "");
  EXPECT_EQ(events.substr(0, events.find('\n')), "store.log_forced message=\"something\"");
}

// A checkpoint holds links to log files that RocksDB has closed.
TEST(Recovery, AFileLinkedByACheckpointIsNotShortened) {
  const TempDir dir;
  const std::string db = make_files(dir.path());
  const std::string copy = dir.path() + "/checkpoint";
  fs::create_directory(copy);
  for (const auto& name : names_in(db)) fs::create_hard_link(db + "/" + name, copy + "/" + name);
  ASSERT_TRUE(truncate_files(db, {}, plan).ok());
  EXPECT_EQ(names_in(db),
            (std::vector<std::string>{"000010.log", "MANIFEST-000009", "newest-log-10"}));
  EXPECT_EQ(content_of(db + "/000010.log"), "0123456");
  EXPECT_EQ(content_of(db + "/MANIFEST-000009"), "01234");
  for (const auto& name : names_in(copy)) {
    EXPECT_EQ(content_of(copy + "/" + name), name == "newest-log-14" ? "" : "0123456789") << name;
  }
}

// A checkpoint has no mark, and its log may be truncated all the same.
TEST(Recovery, NoMarkIsMadeIfThereWasNone) {
  const TempDir dir;
  const std::string db = make_files(dir.path());
  fs::remove(db + "/newest-log-14");
  ASSERT_TRUE(truncate_files(db, {}, plan).ok());
  EXPECT_EQ(names_in(db), (std::vector<std::string>{"000010.log", "MANIFEST-000009"}));
}

// If the mark named a removed file, the next start would report that file as missing.
TEST(Recovery, TheMarkNamesAnExistingFileAfterAnyPowerCut) {
  for (const Loss loss : {Loss::Whole, Loss::Prefix, Loss::Torn}) {
    bool is_done = false;
    for (uint64_t n = 0; !is_done; ++n) {
      const TempDir dir;
      const std::string db = make_files(dir.path());
      fs::create_directory(dir.path() + "/graves");
      const auto faults = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
      faults->forget_entries(dir.path() + "/graves");
      faults->before_nth(n, [&] { faults->lose_power(loss, n); });
      const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
      Options options;
      options.env = env.get();
      is_done = truncate_files(db, options, plan).ok();
      ASSERT_LT(n, 30U) << "it never ends";
      const std::vector<std::string> names = names_in(db);
      const auto mark =
          std::ranges::find_if(names, [](const auto& name) { return log_mark_of(name) != 0; });
      ASSERT_NE(mark, names.end());
      EXPECT_TRUE(std::ranges::any_of(
          names, [&](const auto& name) { return log_index_of(name) == log_mark_of(*mark); }))
          << *mark << " at call " << n;
    }
  }
}

}  // namespace
}  // namespace perennial::store
