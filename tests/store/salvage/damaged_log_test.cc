#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/offline/check.h"
#include "store/offline/repair.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/store/dir_state.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// A damaged log whose records have several pieces. The load is of large bodies in one tube. Of the
// tables only that of meta is damaged here, in another test all.
namespace perennial::store {
namespace {

constexpr JobId jobs = 4;
constexpr size_t body_bytes = 60'000;

std::string largest_log(const std::string& data_dir) {
  std::string log;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir + "/db")) {
    if (entry.path().extension() == ".log" &&
        (log.empty() || entry.file_size() > std::filesystem::file_size(log))) {
      log = entry.path();
    }
  }
  return log;
}

// A directory whose log has a batch for each job, as a crash leaves it. Returns the log's path.
std::string make_log(const TempDir& dir) {
  auto store = Store::open({.data_dir = dir.data_dir()});
  EXPECT_TRUE(store.ok());
  for (JobId id = 1; id <= jobs; ++id) {
    const std::string body(body_bytes, static_cast<char>('a' + id));
    Batch batch;
    if (id == 1) batch.add(TubeStored{.tube = 0, .name = "default"});
    const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = body_bytes};
    batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
    batch.seal({.epoch = 1, .index = id, .known_durable = id - 1, .now = 5});
    EXPECT_TRUE((*store)->write(batch, true).ok());
  }
  store->reset();  // Its threads may be removing the first log.
  return largest_log(dir.data_dir());
}

std::set<JobId> salvaged_jobs(const std::string& path) {
  std::set<JobId> out;
  const auto reader = Reader::open({.path = path, .salvage = true});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  if (!reader.ok()) return out;
  EXPECT_NE((*reader)->salvaged()->log_problem, "");
  const Status loaded = (*reader)->load({.tube = [](TubeId, std::string_view) { return Status(); },
                                         .pause = [](const TubePaused&) { return Status(); },
                                         .settings = [](const SettingsStored&) { return Status(); },
                                         .job =
                                             [&](const JobRow& row) {
                                               out.insert(row.id);
                                               return Status();
                                             },
                                         .key = [](const KeyStored&) { return Status(); }});
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  return out;
}

// The job before the damage is always kept.
TEST(DamagedLog, IsReadAtLeastUpToTheDamage) {
  for (uint64_t place = body_bytes + 10'000; place < 3 * body_bytes; place += 10'000) {
    const TempDir dir;
    flip_byte(make_log(dir), place);
    EXPECT_TRUE(salvaged_jobs(dir.data_dir()).contains(1)) << place;
  }
}

std::string other_log(const std::string& log, int number) {
  return fmt::format("{}/{:06}.log", std::filesystem::path(log).parent_path().string(), number);
}

// A start leaves the second one out, but for a damaged MANIFEST it is refused. RocksDB aborts the
// process if it is shown both.
TEST(DamagedLog, ThatIsThereTwiceIsReadOnce) {
  for (const int distance : {-1, 1, 2, 50}) {
    const TempDir dir;
    const std::string log = make_log(dir);
    const int number = std::stoi(std::filesystem::path(log).filename());
    std::filesystem::copy_file(log, other_log(log, number + distance));
    const std::string manifest = manifest_of(dir.data_dir());
    flip_byte(manifest, std::filesystem::file_size(manifest) - 10);
    EXPECT_EQ(salvaged_jobs(dir.data_dir()), (std::set<JobId>{1, 2, 3, 4})) << distance;
    std::string faults;
    const Result<CheckSummary> summary =
        check_directory({.path = dir.data_dir(),
                         .fault = [&](const Fault& fault) { faults += fault.what + "\n"; }});
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_THAT(faults, testing::HasSubstr("MANIFEST-")) << distance;
    const auto repair = Repair::open(dir.data_dir());
    ASSERT_TRUE(repair.ok()) << repair.status().message();
    EXPECT_EQ((*repair)->account().whole_jobs(), jobs);
    EXPECT_THAT((*repair)->account().log_problem, testing::HasSubstr("is left out from byte 0 on"));
  }
}

// Adds nine jobs after those of copy_dir_to_damage(), which only the log has.
void write_to_log(const TempDir& dir) {
  auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(read_image(**store).ok());
  const BatchIndex index = (*store)->opening().last_index;
  for (JobId id = damaged_dir_jobs + 1; id <= damaged_dir_jobs + 9; ++id) {
    const std::string body(body_bytes, 'b');
    Batch batch;
    const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = body_bytes};
    batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
    const BatchIndex at = index + id - damaged_dir_jobs;
    batch.seal(
        {.epoch = (*store)->opening().epoch, .index = at, .known_durable = at - 1, .now = 5});
    ASSERT_TRUE((*store)->write(batch, true).ok());
  }
}

// Without that row nobody can say whether the log is whole, but that it is damaged.
TEST(DamagedLog, IsNoticedWithoutATableOfMeta) {
  const TempDir dir;
  copy_dir_to_damage(dir.data_dir());
  write_to_log(dir);
  for (int tables = 0; tables < 2; ++tables) {  // The start has written another one.
    damage_table(dir.data_dir(), {.family = Family::Meta, .part = Part::Missing});
  }
  flip_byte(largest_log(dir.data_dir()), 3 * body_bytes);
  const auto reader = Reader::open({.path = dir.data_dir(), .salvage = true});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Salvaged& account = *(*reader)->salvaged();
  EXPECT_FALSE(account.log_is_judged);
  EXPECT_THAT(account.log_problem, testing::HasSubstr("the log is damaged in "));
}

// A body in the log is damaged. What the checkpoint has of the log is not lost, and what came later
// may have been.
TEST(DamagedLog, TakesWhatACheckpointHas) {
  std::mt19937_64 random(support::seed());
  uint64_t lost_without = 0;
  for (int round = 0; round < 8; ++round) {
    CheckpointMaker maker(random());
    maker.write(20, round % 3 != 0);
    maker.write(20, false);
    ASSERT_TRUE(maker.make().ok());
    const Image at_checkpoint = maker.model().image();
    if (round % 2 == 1) maker.write(15, false);
    const Image before = maker.model().image();
    const TempDir killed;
    std::filesystem::copy(maker.data_dir(), killed.data_dir(),
                          std::filesystem::copy_options::recursive);
    const std::string log = largest_log(killed.data_dir());
    const uint64_t used = content_of(log).find_last_not_of('\0');
    flip_byte(log, 100 + random() % (used - 100));
    const auto without = Reader::open({.path = killed.data_dir(), .salvage = true});
    const auto with =
        Reader::open({.path = killed.data_dir(), .salvage = true, .checkpoint = maker.path()});
    ASSERT_TRUE(without.ok() && with.ok()) << with.status().message();
    const Salvaged& account = *(*with)->salvaged();
    if (account.log_problem.empty()) continue;  // The flip was in what nobody was told about.
    EXPECT_GT(account.commits_lost_first, 0U);
    EXPECT_EQ(account.commits_lost_last, maker.model().index());
    const Result<Image> found = read_image(**with);
    const Result<Image> bare = read_image(**without);
    ASSERT_TRUE(found.ok() && bare.ok()) << found.status().message();
    const std::set<JobId> uncertain(account.uncertain.ids.begin(), account.uncertain.ids.end());
    Reader::Bodies bodies = (*with)->bodies();
    for (const auto& [id, row] : at_checkpoint.jobs) {
      if (!before.jobs.contains(id)) continue;
      EXPECT_TRUE(found->jobs.contains(id)) << round << ": job " << id;
      lost_without += bare->jobs.contains(id) ? 0 : 1;
      const Result<std::string_view> body = bodies.read(id);
      EXPECT_TRUE(body.ok() && *body == body_of(id)) << round << ": job " << id;
    }
    for (const JobId id : account.rows_copied.ids) {
      EXPECT_TRUE(uncertain.contains(id)) << round << ": job " << id;
      EXPECT_TRUE(at_checkpoint.jobs.contains(id)) << round << ": job " << id;
    }
    const bool is_newest = round % 2 == 0;
    EXPECT_TRUE(!is_newest || found->jobs == before.jobs) << round;
  }
  EXPECT_GT(lost_without, 0U);
}

// The table with the row by which a log is judged is damaged, too, and what is left of it has that
// row: the damage of the log is still said.
TEST(DamagedLog, IsNoticedBesideADamagedTableOfMeta) {
  for (const bool is_log_damaged : {false, true}) {
    SCOPED_TRACE(is_log_damaged);
    const TempDir dir;
    copy_dir_to_damage(dir.data_dir());
    write_to_log(dir);
    damage_table(dir.data_dir(), {.family = Family::Meta, .part = Part::LastBlock});
    if (is_log_damaged) flip_byte(largest_log(dir.data_dir()), 3 * body_bytes);
    const auto reader = Reader::open({.path = dir.data_dir(), .salvage = true});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    const Salvaged& account = *(*reader)->salvaged();
    EXPECT_EQ(account.log_problem.empty(), !is_log_damaged) << account.log_problem;
    EXPECT_TRUE(account.log_is_judged);
    const Result<Image> found = read_image(**reader);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_TRUE(found->jobs.contains(damaged_dir_jobs + 1));
    EXPECT_TRUE(is_log_damaged || found->jobs.contains(damaged_dir_jobs + 9));
  }
}

}  // namespace
}  // namespace perennial::store
