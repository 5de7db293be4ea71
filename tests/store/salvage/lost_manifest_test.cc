#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/file_system.h>

#include "engine/types/check.h"
#include "store/reader.h"
#include "store/recovery/manifest.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/log_ends.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// A MANIFEST that is cut or damaged anywhere behind the names of the families. The load has all
// kinds of rows and many flushes, a few starts, and compactions where RocksDB chooses them. It is
// blind to a table that is lost, too, and to a checkpoint.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

class LostManifest : public testing::TestWithParam<bool> {
 protected:
  LostManifest() {
    for (int start = 0; start < 3; ++start) {
      const auto store = Store::open({.data_dir = path()});
      CHECK(store.ok());
      model_.reopened((*store)->opening());
      for (int flush = 0; flush < 6; ++flush) {
        write_batches(**store);
        CHECK((*store)->flush().ok());
      }
      const bool is_at_the_end = start == 2;
      if (is_at_the_end && has_log()) write_batches(**store);
    }
    manifest_ = content_of(manifest_of(path()));
  }

  // Whether the log has batches that no table has.
  static bool has_log() { return GetParam(); }
  std::string path() const { return dir_.data_dir(); }
  void write_batches(Store& store) {
    for (int count = 0; count < 4; ++count) {
      Batch batch;
      model_.next(batch, 20);
      CHECK(store.write(batch, true).ok());
    }
  }
  bool names_all() const {
    const auto read = read_manifest(*rocksdb::FileSystem::Default(), path() + "/db");
    return read.ok() && read->names_all(families_of(format_base, format_families));
  }
  // Without the name of the family a table of jobs that have ended is not one, and their bodies
  // belong to nothing.
  bool names_ended() const {
    const auto read = read_manifest(*rocksdb::FileSystem::Default(), path() + "/db");
    return read.ok() && read->names_all(families_of(format_with_ended, format_families));
  }
  // Expects that a salvage finds every job, with its state and body.
  void expect_all(const std::string& what) const {
    const auto reader = Reader::open({.path = path(), .salvage = true});
    ASSERT_TRUE(reader.ok()) << what << ": " << reader.status().message();
    const Result<Image> found = read_image(**reader);
    ASSERT_TRUE(found.ok()) << what << ": " << found.status().message();
    const Salvaged& account = *(*reader)->salvaged();
    size_t lost = 0;
    size_t others = 0;
    Reader::Bodies bodies = (*reader)->bodies();
    for (const auto& [id, row] : model_.image().jobs) {
      const auto at = found->jobs.find(id);
      const bool is_there = at != found->jobs.end();
      lost += is_there ? 0 : 1;
      others += is_there && at->second != row ? 1 : 0;
      if (!is_there) continue;
      const Result<std::string_view> body = bodies.read(id);
      ASSERT_TRUE(body.ok()) << what << ": " << body.status().message();
      EXPECT_EQ(*body, body_of(id)) << what;
    }
    EXPECT_EQ(lost, 0u) << what << " of " << model_.image().jobs.size();
    // What is here too much, or in an earlier state, is counted.
    EXPECT_LE(others, account.uncertain.count + account.rows_older.count) << what;
    const size_t back = found->jobs.size() + lost - model_.image().jobs.size();
    EXPECT_LE(back, account.uncertain.count) << what;
    EXPECT_LE(account.lost_jobs(), names_ended() ? 0 : model_.image().ended.size()) << what;
    EXPECT_EQ(account.tubes_renamed, 0u) << what;
  }

  const TempDir dir_;
  StoreModel model_{support::seed()};
  std::string manifest_;
};

TEST_P(LostManifest, CostsNoJob) {
  const std::string manifest = manifest_of(path());
  const std::vector<uint64_t> ends = record_ends(manifest);
  ASSERT_GT(ends.size(), 30u);
  std::vector<uint64_t> chosen(ends.rbegin(), ends.rend());
  while (!chosen.empty()) {
    write_file(manifest, manifest_.substr(0, chosen.back()));
    if (names_all()) break;
    chosen.pop_back();
  }
  // The first place, and some others.
  std::mt19937_64 random(support::seed());
  std::shuffle(chosen.begin(), chosen.end() - 1, random);
  chosen.erase(chosen.begin(), chosen.end() - std::min<ptrdiff_t>(std::ssize(chosen), 7));
  for (const uint64_t end : chosen) {
    write_file(manifest, manifest_.substr(0, end));
    ASSERT_NO_FATAL_FAILURE(expect_all("cut at " + std::to_string(end)));
    if (end + 9 < manifest_.size()) {
      std::string damaged = manifest_;
      damaged[end + 9] ^= 1;
      write_file(manifest, damaged);
      ASSERT_NO_FATAL_FAILURE(expect_all("damaged at " + std::to_string(end)));
    }
  }
  EXPECT_EQ(chosen.size(), 7u);
}

INSTANTIATE_TEST_SUITE_P(Store, LostManifest, testing::Bool(),
                         [](const auto& one) { return one.param ? "WithALog" : "WithoutALog"; });

// Nothing says where the keys of a table end that the MANIFEST does not name, but its blocks do.
TEST(LostManifestOfWholeTables, HidesNothingBehindThem) {
  constexpr JobId jobs_of_table = 10;
  constexpr JobId jobs = 3 * jobs_of_table;
  const TempDir dir;
  {
    const auto store = Store::open({.data_dir = dir.data_dir()});
    ASSERT_TRUE(store.ok());
    for (JobId id = 1; id <= jobs; ++id) {
      const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = 4};
      Batch batch;
      if (id == 1) batch.add(TubeStored{.tube = 1, .name = "mail"});
      batch.add(NextIdRaised{.next_id = id + 1});
      batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, "body");
      batch.seal({.epoch = (*store)->opening().epoch, .index = id, .known_durable = 0, .now = 1});
      ASSERT_TRUE((*store)->write(batch, true).ok());
      if (id % jobs_of_table == 0) {
        ASSERT_TRUE((*store)->flush().ok());
      }
    }
  }
  const std::string manifest = manifest_of(dir.data_dir());
  const std::string content = content_of(manifest);
  for (const uint64_t end : record_ends(manifest)) {  // The first of them that names all families.
    write_file(manifest, content.substr(0, end));
    const auto read = read_manifest(*rocksdb::FileSystem::Default(), dir.data_dir() + "/db");
    if (read.ok() && read->names_all(families_of(format_base, format_families))) break;
  }
  const auto reader = Reader::open({.path = dir.data_dir(), .salvage = true});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Salvaged& account = *(*reader)->salvaged();
  EXPECT_GE(account.tables_unlisted, 6U);  // Of ready and of bodies.
  EXPECT_EQ(account.whole_jobs(), jobs);
  EXPECT_EQ(account.uncertain.ids, std::vector<JobId>());
  EXPECT_EQ(account.rows_older.ids, std::vector<JobId>());
}

}  // namespace
}  // namespace perennial::store
