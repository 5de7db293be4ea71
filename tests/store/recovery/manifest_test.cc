#include "store/recovery/manifest.h"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "engine/types/check.h"
#include "store/offline/check.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/log_bytes.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P9: a damaged MANIFEST is truncated if that loses nothing, and is refused otherwise.
namespace perennial::store {
namespace {

// A store that was killed soon after a flush, or without one.
class ManifestTest : public testing::Test {
 protected:
  explicit ManifestTest(BatchIndex flushed_at = 10) {
    const auto store = Store::open({.data_dir = dir_.data_dir()});
    CHECK(store.ok());
    write_batches(**store, flushed_at);
    if (flushed_at > 0) CHECK((*store)->flush().ok());
    write_batches(**store, 20);
    content_ = content_of(path());
  }

  void write_batches(Store& store, BatchIndex to) {
    for (Batch batch; model_.index() < to;) {
      model_.next(batch, 20);
      CHECK(store.write(batch, true).ok());
    }
  }
  std::string path() const { return manifest_of(dir_.data_dir()); }
  Manifest read() const {
    auto manifest =
        read_manifest(*rocksdb::Env::Default()->GetFileSystem(), dir_.data_dir() + "/db");
    CHECK(manifest.ok());
    return manifest.take();
  }
  // Opens the store and compares it with the model. Returns what is wrong.
  std::string visit(Recover recover = Recover::Strict) {
    Options options = {.data_dir = dir_.data_dir(), .recover = recover};
    options.events.info = [this](std::string_view at, std::string_view fields) {
      if (at == "store.manifest_cut" || at == "store.current_made") events_ += std::string(fields);
    };
    const auto store = Store::open(options);
    return store.ok() ? difference(**store, model_.image()) : store.status().message();
  }

  const TempDir dir_;
  StoreModel model_{support::seed()};
  std::string content_;
  std::string events_;
};

TEST_F(ManifestTest, IsFoundWithoutCurrentWhereThereIsOne) {
  const std::string db = dir_.data_dir() + "/db";
  for (const char* const content : {"", "rubbish", "MANIFEST-\n", "MANIFEST-999999\n"}) {
    const std::string name = std::filesystem::path(path()).filename();
    write_file(db + "/CURRENT", content);
    if (*content == '\0') std::filesystem::remove(db + "/CURRENT");
    const auto before = state_of(dir_.path());
    EXPECT_NE(read().current_problem, "");
    EXPECT_EQ(read().name, name);
    {
      const auto reader = Reader::open({.path = dir_.data_dir()});
      ASSERT_TRUE(reader.ok()) << reader.status().message();
      const auto checked = check_directory({.path = dir_.data_dir()});
      ASSERT_TRUE(checked.ok());
      EXPECT_EQ(checked->faults, 1u);
      EXPECT_TRUE(checked->starts);
      const auto salvage = Reader::open({.path = dir_.data_dir(), .salvage = true});
      ASSERT_TRUE(salvage.ok()) << salvage.status().message();
      EXPECT_EQ((*salvage)->salvaged()->lost_jobs(), 0u);
    }
    EXPECT_TRUE(before == state_of(dir_.path()));
    events_.clear();
    EXPECT_EQ(visit(), "");
    EXPECT_TRUE(events_.ends_with(" now_names=" + name)) << events_;
    EXPECT_EQ(read().current_problem, "");
  }
  // Of two it is not known which one it was.
  std::filesystem::copy(path(), db + "/MANIFEST-000001");
  write_file(db + "/CURRENT", "rubbish");
  EXPECT_NE(visit().find("CURRENT names no MANIFEST, and there are 2 MANIFEST files"),
            std::string::npos)
      << visit();
}

// What else is damaged is found first, and a start that is refused has written nothing.
TEST_F(ManifestTest, CurrentIsNotWrittenByAStartThatIsRefused) {
  std::filesystem::remove(dir_.data_dir() + "/db/CURRENT");
  write_file(newest_log(dir_.data_dir()), "");
  const auto before = state_of(dir_.path());
  EXPECT_NE(visit(), "");
  EXPECT_TRUE(before == state_of(dir_.path()));
}

TEST_F(ManifestTest, EachFamilyHasTheLogNumberOfItsLastFlush) {
  const Manifest manifest = read();
  EXPECT_FALSE(manifest.damage);
  EXPECT_EQ(manifest.flushed_to.size(), family_count);
  EXPECT_TRUE(manifest.says_enough());
  EXPECT_TRUE(manifest.names_all(family_names));
  constexpr std::array<std::string_view, 2> others = {"default", "asleep"};
  EXPECT_FALSE(manifest.names_all(others));
  const uint64_t newest =
      std::stoull(std::filesystem::path(newest_log(dir_.data_dir())).filename().string());
  for (const auto& [family, log] : manifest.flushed_to) {
    ASSERT_TRUE(log.has_value()) << family;
    EXPECT_LE(*log, newest);
  }
  EXPECT_EQ(manifest.needed_from(), newest);
  EXPECT_EQ(manifest.named_max(), newest);
  EXPECT_GT(manifest.next_file, newest);
}

// A power cut may leave any part of an edit that was about to be synced.
TEST_F(ManifestTest, ATornEditIsTruncated) {
  const std::string edit = full(std::string("\x02\x7f", 2) + std::string(150, 'k'));
  std::string damaged = edit;
  damaged.back() = '?';
  std::string too_long = edit;
  too_long[5] = '\x01';
  for (const std::string& tail :
       {edit.substr(0, 3), edit.substr(0, edit.size() - 1), damaged, too_long, damaged + damaged,
        std::string(5000, 'x'), damaged + full("")}) {
    write_file(path(), content_ + tail);
    events_.clear();
    EXPECT_EQ(visit(), "");
    EXPECT_NE(events_.find("offset=" + std::to_string(content_.size()) +
                           " dropped_bytes=" + std::to_string(tail.size()) + " reason="),
              std::string::npos)
        << events_;
    content_ = content_of(path());
    ASSERT_FALSE(read().damage);
  }
}

// RocksDB takes zeros for the end, and recovery does the same.
TEST_F(ManifestTest, AManifestMayEndInZeros) {
  write_file(path(), content_ + std::string(100, '\0'));
  EXPECT_EQ(visit(), "");
  EXPECT_EQ(events_.find("manifest_cut"), std::string::npos) << events_;
}

// The edit of the flush was synced, and the log files before the flush are removed.
TEST_F(ManifestTest, AMissingEditThatRemovedLogFilesIsRefused) {
  for (const size_t from_end : {20, 60, 300}) {
    std::string content = content_;
    content[content.size() - from_end] = static_cast<char>(content[content.size() - from_end] ^ 4);
    write_file(path(), content);
    const auto before = state_of(dir_.data_dir());
    for (const Recover recover : {Recover::Strict, Recover::PointInTime}) {
      const std::string problem = visit(recover);
      for (const char* part :
           {"MANIFEST-", " is damaged at byte ",
            "; and what stands before does not fit the log: ", "; restore a checkpoint"}) {
        EXPECT_NE(problem.find(part), std::string::npos) << problem;
      }
    }
    EXPECT_EQ(events_, "");
    EXPECT_TRUE(before == state_of(dir_.data_dir()));
  }
}

// An open that has replayed the log writes one edit for each family, and then deletes the log. The
// file that it begins also fits the first edit, which is that of meta. Nothing was flushed before,
// so that no compaction adds edits.
class ManifestAfterOpenTest : public ManifestTest {
 protected:
  ManifestAfterOpenTest() : ManifestTest(0) {
    CHECK(Store::open({.data_dir = dir_.data_dir()}).ok());
    content_ = content_of(path());
  }
};

TEST_F(ManifestAfterOpenTest, AMissingEditIsRefused) {
  const uint64_t needed = read().needed_from();
  for (size_t from_end = 5; from_end < 600; from_end += 35) {
    std::string content = content_;
    content[content.size() - from_end] = static_cast<char>(content[content.size() - from_end] ^ 4);
    write_file(path(), content);
    ASSERT_TRUE(read().damage) << from_end;
    const std::string problem = visit();
    EXPECT_NE(problem.find(" is damaged at byte "), std::string::npos) << problem;
    if (from_end > 40) continue;
    EXPECT_NE(problem.find(" is cut off, or the log file with number " + std::to_string(needed)),
              std::string::npos)
        << problem;
  }
}

// The last edit of a flush only names the log files that may be removed, which the others imply.
TEST_F(ManifestTest, AMissingEditThatAddsNothingIsTruncated) {
  std::string content = content_;
  content.back() = static_cast<char>(content.back() ^ 4);
  write_file(path(), content);
  EXPECT_EQ(visit(), "");
  EXPECT_NE(events_.find("reason=\"its checksum is wrong\""), std::string::npos) << events_;
}

TEST_F(ManifestTest, AManifestWithoutAWholeRecordIsRefused) {
  for (const std::string& content :
       {std::string(), std::string("x"), std::string(content_.size(), '\0'),
        std::string(content_.size(), 'x'), "x" + content_.substr(1)}) {
    write_file(path(), content);
    const std::string problem = visit();
    EXPECT_TRUE(problem.find(" is damaged at byte 0: ") != std::string::npos ||
                problem.find(" is cut off: it does not name all families") != std::string::npos ||
                problem.find("; and what stands before does not fit the log: ") !=
                    std::string::npos)
        << problem;
    EXPECT_EQ(content_of(path()), content);
  }
}

}  // namespace
}  // namespace perennial::store
