#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/checkpoint/checkpoint.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/long_form.h"
#include "tests/support/seed.h"

// P11: what a checkpoint has of the rows and bodies that cannot be read is not lost. The load has
// every stored field of a job, keys with and without cooldowns, settings, pauses and tubes that
// end; its clock is the model's. It is blind to a damaged log, where a checkpoint is not asked.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

Result<std::unique_ptr<Reader>> salvage(const std::string& path, const std::string& checkpoint) {
  return Reader::open({.path = path, .salvage = true, .checkpoint = checkpoint});
}

std::set<JobId> set_of(const IdList& list) {
  return {list.ids.begin(), list.ids.end()};
}

// Each job has its own body.
void expect_bodies(const Reader& reader, const Image& image) {
  Reader::Bodies bodies = reader.bodies();
  for (const auto& [id, row] : image.jobs) {
    const Result<std::string_view> body = bodies.read(id);
    EXPECT_TRUE(body.ok() && *body == body_of(id)) << id;
  }
}

class TableDamagedBesideACheckpoint : public testing::TestWithParam<DamageCase> {};

// Nothing has changed since the checkpoint, so nothing is lost, whichever table is damaged.
TEST_P(TableDamagedBesideACheckpoint, CostsNothing) {
  const TempDir dir;
  copy_dir_to_damage(dir.data_dir());
  CheckpointPlan plan = {.dir = dir.path(), .name = checkpoint_name(checkpoint_time)};
  {
    auto store = Store::open({.data_dir = dir.data_dir()});
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(read_image(**store).ok());
    plan.database = (*store)->identity();
    plan.index = (*store)->opening().last_index;
    ASSERT_TRUE((*store)->create_checkpoint(partial_path(plan)).ok());
    ASSERT_TRUE((*store)->close(damaged_dir_jobs + 1).ok());
  }
  ASSERT_TRUE(complete_checkpoint(plan).ok());
  const auto whole = Reader::open({.path = dir.data_dir()});
  ASSERT_TRUE(whole.ok());
  const Result<Image> before = read_image(**whole);
  ASSERT_TRUE(before.ok());
  damage_table(dir.data_dir(), GetParam());
  const auto reader = salvage(dir.data_dir(), dir.path() + "/" + plan.name);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Result<Image> found = read_image(**reader);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->jobs, before->jobs);
  EXPECT_EQ(found->keys, before->keys);
  EXPECT_EQ(found->settings, before->settings);
  EXPECT_EQ(found->tubes, before->tubes);
  expect_bodies(**reader, *found);
  const Salvaged& account = *(*reader)->salvaged();
  EXPECT_EQ(account.lost_jobs(), 0U);
  EXPECT_EQ(account.uncertain.count, 0U);
  EXPECT_EQ(account.tubes_renamed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Salvage, TableDamagedBesideACheckpoint, testing::ValuesIn(all_damages()),
                         [](const auto& one) { return name_of(one.param); });

std::vector<std::string> tables_in(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& file : fs::directory_iterator(path + "/db")) {
    if (file.path().extension() == ".sst") out.push_back(file.path());
  }
  std::ranges::sort(out);
  return out;
}

// Gives the file a content of its own: a checkpoint may share it.
void flip_in_a_copy(const std::string& path, uint64_t at) {
  fs::copy_file(path, path + ".own");
  fs::rename(path + ".own", path);
  flip_byte(path, at);
}

// Work goes on after the checkpoint: jobs move and end, and tubes get the numbers of others.
TEST(CopiedRows, AreRightAboutWhatTheySayIsCertain) {
  std::mt19937_64 random(support::seed());
  uint64_t copied = 0;
  uint64_t lost_without = 0;
  uint64_t lost_with = 0;
  // A flip may hit bytes that cost nothing: more rounds follow until one has cost a job.
  const int rounds = support::by_form(6, 60);
  for (int round = 0; round < rounds || (lost_with >= lost_without && round < 60); ++round) {
    CheckpointMaker maker(random());
    maker.write(60, true, 30);
    ASSERT_TRUE(maker.make().ok());
    for (int more = 0; more < 3; ++more) maker.write(1 + static_cast<int>(random() % 25), true, 30);
    const Image before = maker.model().image();
    maker.close();
    const std::vector<std::string> tables = tables_in(maker.data_dir());
    const std::string& table = tables[random() % tables.size()];
    flip_in_a_copy(table, random() % fs::file_size(table));
    const auto without = salvage(maker.data_dir(), "");
    const auto reader = salvage(maker.data_dir(), maker.path());
    ASSERT_TRUE(without.ok() && reader.ok()) << reader.status().message();
    const Result<Image> found = read_image(**reader);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const Salvaged& account = *(*reader)->salvaged();
    const std::set<JobId> uncertain = set_of(account.uncertain);
    const std::set<JobId> lost = set_of(account.rows_lost);
    const std::set<JobId> of_copy = set_of(account.rows_copied);
    const std::set<JobId> older = set_of(account.rows_older);
    for (const auto& [id, row] : found->jobs) {
      SCOPED_TRACE(table + ": job " + std::to_string(id));
      const auto was = before.jobs.find(id);
      if (was == before.jobs.end() || was->second.state != row.state) {
        EXPECT_TRUE(uncertain.contains(id));
      } else if (!of_copy.contains(id)) {
        EXPECT_TRUE(was->second == row || uncertain.contains(id) || older.contains(id));
      }
      const bool is_named = of_copy.contains(id) || uncertain.contains(id) ||
                            account.tubes_renamed + account.tubes_copied > 0;
      if (was != before.jobs.end() && !is_named) {
        EXPECT_EQ(found->tubes.at(row.tube), before.tubes.at(was->second.tube));
      }
    }
    for (const auto& [id, row] : before.jobs) {
      EXPECT_TRUE(found->jobs.contains(id) || lost.contains(id)) << table << ": job " << id;
    }
    const std::set<JobId> without_body = set_of(account.bodies_lost);
    Image with_body = *found;
    std::erase_if(with_body.jobs,
                  [&](const auto& job) { return without_body.contains(job.first); });
    expect_bodies(**reader, with_body);
    copied += account.rows_copied.count + account.bodies_copied.count;
    lost_with += account.lost_jobs();
    lost_without += (*without)->salvaged()->lost_jobs();
  }
  EXPECT_GT(copied, 0U);
  EXPECT_LT(lost_with, lost_without);
}

}  // namespace
}  // namespace perennial::store
