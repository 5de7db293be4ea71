#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/offline/builder.h"
#include "store/offline/repair.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/long_form.h"
#include "tests/support/seed.h"

// P11: damage costs what is damaged. One part of one table of each family is damaged.
namespace perennial::store {
namespace {

class TableDamaged : public testing::TestWithParam<DamageCase> {
 protected:
  TableDamaged() { copy_dir_to_damage(dir_.data_dir()); }

  static Image whole_image() {
    const TempDir dir;
    copy_dir_to_damage(dir.data_dir());
    const auto reader = Reader::open({.path = dir.data_dir()});
    EXPECT_TRUE(reader.ok());
    const Result<Image> image = read_image(**reader);
    EXPECT_TRUE(image.ok());
    return *image;
  }
  // Of all copies.
  static const Image& before() {
    static const Image image = whole_image();
    return image;
  }

  bool is_state() const {
    return GetParam().family != Family::Meta && GetParam().family != Family::Keys &&
           GetParam().family != Family::Bodies && GetParam().family != Family::Notes;
  }
  bool is_one_block() const {
    return GetParam().part == Part::DataBlock || GetParam().part == Part::FirstBlock ||
           GetParam().part == Part::LastBlock;
  }

  // The data blocks are whole.
  bool is_behind_data() const {
    return GetParam().part == Part::Index || GetParam().part == Part::Properties ||
           GetParam().part == Part::Metaindex || GetParam().part == Part::Footer;
  }

  const TempDir dir_;
};

using TableMissing = TableDamaged;

std::string name_of_tube(const Image& image, const JobRow& row) {
  const auto tube = image.tubes.find(row.tube);
  return tube == image.tubes.end() ? "" : tube->second;
}

TEST_P(TableDamaged, CostsTheRowsInWhatIsDamaged) {
  damage_table(dir_.data_dir(), GetParam());
  const auto state = state_of(dir_.data_dir());
  auto reader = Reader::open({.path = dir_.data_dir(), .salvage = true});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Result<Image> found = read_image(**reader);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const Salvaged& account = *(*reader)->salvaged();

  std::set<JobId> lost;
  for (const auto& [id, row] : before().jobs) {
    const auto again = found->jobs.find(id);
    if (again == found->jobs.end()) {
      lost.insert(id);
      EXPECT_EQ(family_of(row.state), GetParam().family) << id;
      continue;
    }
    EXPECT_EQ(again->second, row) << id;
    const std::string name = name_of_tube(*found, row);
    if (name != name_of_tube(before(), row)) {
      EXPECT_EQ(GetParam().family, Family::Meta) << id;
      EXPECT_EQ(name, fmt::format("tube-{}", row.tube));
    }
  }
  EXPECT_LE(found->jobs.size(), before().jobs.size());
  const std::set<JobId> named(account.rows_lost.ids.begin(), account.rows_lost.ids.end());
  EXPECT_EQ(lost, named);
  EXPECT_EQ(account.uncertain.count, 0U);
  if (is_behind_data()) {
    EXPECT_EQ(*found, before());
    EXPECT_EQ(account.lost_jobs(), 0U);
  }
  if (GetParam().part == Part::Cut && is_state()) {  // About half of the jobs were cut off.
    EXPECT_LE(lost.size(), damaged_dir_jobs / job_states.size() / 2 + rows_of_block_max);
  }
  if (is_state() && is_one_block()) {
    EXPECT_GE(lost.size(), 1U);
    EXPECT_LE(lost.size(), rows_of_block_max);
    // They lie together.
    EXPECT_EQ((*lost.rbegin() - *lost.begin()) / job_states.size() + 1, lost.size());
  }
  if (!is_state()) {
    EXPECT_TRUE(lost.empty());
  }
  if (GetParam().family != Family::Meta && lost.empty()) {
    EXPECT_EQ(found->keys, before().keys);
  }
  EXPECT_EQ(state_of(dir_.data_dir()), state);  // It has changed nothing.

  std::set<JobId> without_body;
  Reader::Bodies bodies = (*reader)->bodies();
  for (const auto& [id, row] : found->jobs) {
    const Result<std::string_view> body = bodies.read(id);
    if (!body.ok() || *body != body_of(id)) without_body.insert(id);
  }
  EXPECT_EQ(without_body,
            std::set<JobId>(account.bodies_lost.ids.begin(), account.bodies_lost.ids.end()));
  if (GetParam().family != Family::Bodies) {
    EXPECT_TRUE(without_body.empty());
  }
  if (GetParam().family == Family::Bodies && is_one_block()) {
    EXPECT_GE(without_body.size(), 1U);
    EXPECT_LE(without_body.size(), 2 * rows_of_block_max);
    EXPECT_EQ(*without_body.rbegin() - *without_body.begin() + 1, without_body.size());
  }
  EXPECT_GT((*reader)->next_id(), damaged_dir_jobs);
}

TEST_P(TableDamaged, CostsTheNotesInWhatIsDamaged) {
  damage_table(dir_.data_dir(), GetParam());
  const auto reader = Reader::open({.path = dir_.data_dir(), .salvage = true});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Result<Image> image = read_image(**reader);
  ASSERT_TRUE(image.ok()) << image.status().message();
  Reader::Notes notes = (*reader)->notes();
  uint64_t found = 0;
  uint64_t lost = 0;
  for (const auto& [id, row] : image->jobs) {
    const uint32_t had = row.fields ? row.fields->notes : 0;
    const Result<std::vector<Note>> read = notes.read(id, had);
    ASSERT_TRUE(read.ok()) << read.status().message();
    for (const Note& note : *read) EXPECT_EQ(note, note_of(id, note.number));
    found += read->size();
    lost += notes_kept(had) - read->size();
  }
  EXPECT_EQ(found, (*reader)->salvaged()->notes);
  EXPECT_EQ(lost, (*reader)->salvaged()->notes_lost);
  const bool is_notes = GetParam().family == Family::Notes;
  EXPECT_EQ(lost > 0, is_notes && !is_behind_data());
  if (is_one_block()) {
    EXPECT_LE(lost, rows_of_block_max);
  }
  EXPECT_EQ(found == 0, is_notes && GetParam().part == Part::Missing);
}

// A table of another database with the same name and the same number costs what it would cost if
// the table were missing.
TEST_P(TableMissing, IsAsIfAnotherWereInItsPlace) {
  const std::string table = table_of(dir_.data_dir(), GetParam().family);
  const std::string other = dir_.path() + "/other";
  make_dir_to_damage(other);
  const std::string content = content_of(table_of(other, GetParam().family));
  std::filesystem::remove(table);
  const auto missing = Reader::open({.path = dir_.data_dir(), .salvage = true});
  ASSERT_TRUE(missing.ok()) << missing.status().message();
  write_file(table, content);
  const auto foreign = Reader::open({.path = dir_.data_dir(), .salvage = true});
  ASSERT_TRUE(foreign.ok()) << foreign.status().message();
  EXPECT_EQ((*foreign)->salvaged()->jobs, (*missing)->salvaged()->jobs);
  EXPECT_EQ((*foreign)->salvaged()->lost_jobs(), (*missing)->salvaged()->lost_jobs());
  EXPECT_EQ((*foreign)->salvaged()->uncertain.ids, (*missing)->salvaged()->uncertain.ids);
}

TEST_P(TableDamaged, IsAccountedFor) {
  damage_table(dir_.data_dir(), GetParam());
  const auto reader = Reader::open({.path = dir_.data_dir(), .salvage = true});
  ASSERT_TRUE(reader.ok());
  const Salvaged& account = *(*reader)->salvaged();
  ASSERT_EQ(account.tables.size(), 1U);
  EXPECT_EQ(account.log_problem, "");
  const DamagedTable& table = account.tables.front();
  EXPECT_EQ(table.family, GetParam().family);
  EXPECT_FALSE(table.problem.empty());
  if (is_behind_data()) {
    EXPECT_TRUE(table.unreadable.empty());
    EXPECT_EQ(table.skipped(), 0U);
    EXPECT_GT(table.entries_read, 0U);
    return;
  }
  ASSERT_EQ(table.unreadable.size(), 1U);
  EXPECT_LT(table.unreadable.front().begin_offset, table.unreadable.front().end_offset);
  if (GetParam().part == Part::Cut && GetParam().family != Family::Meta) {
    EXPECT_GT(table.entries_read, 0U);  // Of meta the first of two blocks is cut.
  }
  if (is_one_block()) {
    EXPECT_GT(table.skipped(), 0U);
  }
  if (is_one_block() && is_state()) {
    EXPECT_EQ(table.skipped(), account.rows_lost.count);
  }
}

std::string case_name(const testing::TestParamInfo<DamageCase>& one) {
  return name_of(one.param);
}

INSTANTIATE_TEST_SUITE_P(Salvage, TableDamaged, testing::ValuesIn(all_damages()), case_name);

std::vector<DamageCase> all_missing() {
  std::vector<DamageCase> out = all_damages();
  std::erase_if(out, [](const DamageCase& damage) { return damage.part != Part::Missing; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Salvage, TableMissing, testing::ValuesIn(all_missing()), case_name);

// A whole table of another family, or of the same number of rows, is no part of this one.
TEST(Salvage, ATableInThePlaceOfAnotherIsNotRead) {
  const TempDir dir;
  copy_dir_to_damage(dir.data_dir());
  const auto whole = Reader::open({.path = dir.data_dir()});
  ASSERT_TRUE(whole.ok());
  const Result<Image> before = read_image(**whole);
  ASSERT_TRUE(before.ok());
  const std::string buried = table_of(dir.data_dir(), Family::Buried);
  std::filesystem::copy_file(table_of(dir.data_dir(), Family::Ready), buried,
                             std::filesystem::copy_options::overwrite_existing);
  const auto reader = Reader::open({.path = dir.data_dir(), .salvage = true});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Result<Image> found = read_image(**reader);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const Salvaged& account = *(*reader)->salvaged();
  const std::set<JobId> named(account.rows_lost.ids.begin(), account.rows_lost.ids.end());
  for (const auto& [id, row] : before->jobs) {
    const auto again = found->jobs.find(id);
    EXPECT_EQ(again == found->jobs.end(), row.state == JobState::Buried) << id;
    EXPECT_EQ(named.contains(id), row.state == JobState::Buried) << id;
    if (again != found->jobs.end()) {
      EXPECT_EQ(again->second, row) << id;
    }
  }
}

constexpr JobId ended_max = 2000;
constexpr JobId jobs_with_ended = 1000;

// A directory with ended jobs in tables of several blocks, and with other jobs.
void make_dir_with_ended(const std::string& path) {
  auto builder = Builder::begin({.path = path});
  ASSERT_TRUE(builder.ok());
  ASSERT_TRUE((*builder)->tube("mail").ok());
  for (JobId id = 1; id <= ended_max; ++id) {
    const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = 5};
    const EndedJob job = {.row = row, .tube = "mail", .place = id, .at = static_cast<Nanos>(id)};
    ASSERT_TRUE((*builder)->add_ended(job, "hello").ok());
  }
  for (JobId id = ended_max + 1; id <= ended_max + jobs_with_ended; ++id) {
    const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = 5};
    ASSERT_TRUE((*builder)->add_job(row, "hello").ok());
  }
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 2, .now = 1}, 10'000).ok());
}

class EndedTableDamaged : public testing::TestWithParam<DamageCase> {};

// No ended job comes back as a job, whatever of it is lost; and what can be read is kept.
TEST_P(EndedTableDamaged, CostsEndedJobsOnly) {
  const TempDir dir;
  make_dir_with_ended(dir.data_dir());
  damage_table(dir.data_dir(), GetParam());
  uint64_t kept = 0;
  {
    const auto repair = Repair::open(dir.data_dir(), {}, nullptr);
    ASSERT_TRUE(repair.ok()) << repair.status().message();
    const Salvaged& account = (*repair)->account();
    EXPECT_EQ(account.job_count(), jobs_with_ended);
    EXPECT_EQ(account.lost_jobs(), 0U);
    EXPECT_EQ(account.uncertain.count, 0U);
    EXPECT_EQ(account.ended + account.ended_lost.count, ended_max);
    const bool is_of_order = GetParam().family == Family::EndedOrder;
    EXPECT_EQ(account.ended_lost.count == 0, is_of_order);
    EXPECT_LT(account.ended_lost.count, GetParam().part == Part::Missing ? ended_max + 1 : 1500U);
    kept = account.ended;
    const auto done = (*repair)->run("now");
    ASSERT_TRUE(done.ok()) << done.status().message();
  }
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok()) << store.status().message();
  const Result<Image> image = read_image(**store);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->jobs.size(), jobs_with_ended);
  const auto order = (*store)->read_ended_order("mail", 1, ended_max + 1);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->size(), kept);
}

INSTANTIATE_TEST_SUITE_P(Salvage, EndedTableDamaged,
                         testing::Values(DamageCase{Family::Ended, Part::DataBlock},
                                         DamageCase{Family::Ended, Part::FirstBlock},
                                         DamageCase{Family::Ended, Part::LastBlock},
                                         DamageCase{Family::Ended, Part::Cut},
                                         DamageCase{Family::Ended, Part::Missing},
                                         DamageCase{Family::EndedOrder, Part::DataBlock},
                                         DamageCase{Family::EndedOrder, Part::Missing}),
                         case_name);

TEST(Salvage, OfAWholeDirectoryIsWhole) {
  const TempDir dir;
  copy_dir_to_damage(dir.data_dir());
  const auto whole = Reader::open({.path = dir.data_dir()});
  const auto salvaged = Reader::open({.path = dir.data_dir(), .salvage = true});
  ASSERT_TRUE(whole.ok() && salvaged.ok());
  EXPECT_TRUE((*salvaged)->salvaged()->is_whole());
  EXPECT_EQ((*salvaged)->next_id(), (*whole)->next_id());
  EXPECT_EQ((*salvaged)->commit(), (*whole)->commit());
  EXPECT_EQ(difference(**salvaged, *read_image(**whole)), "");
}

// Writes batches in several runs, so that rows and their removals are in several tables and the
// log.
Image write_history(const std::string& path, uint64_t seed) {
  StoreModel model(seed);
  for (int run = 0; run < 3; ++run) {
    auto store = Store::open({.data_dir = path});
    EXPECT_TRUE(store.ok());
    model.reopened((*store)->opening());
    for (int count = 0; count < 60; ++count) {
      Batch batch;
      model.next(batch, 30);
      EXPECT_TRUE((*store)->write(batch, true).ok());
      if (count % 20 == 7) {
        EXPECT_TRUE((*store)->flush().ok());
      }
    }
  }
  return model.image();
}

std::vector<std::string> tables_in(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(path + "/db")) {
    if (file.path().extension() == ".sst") out.push_back(file.path());
  }
  std::ranges::sort(out);
  return out;
}

// Whatever is damaged: a job is as it was, or it is named as lost, or as uncertain.
TEST(Salvage, OfARandomHistoryIsRightAboutWhatItSaysIsCertain) {
  std::mt19937_64 random(support::seed());
  for (int round = 0; round < support::by_form(4, 40); ++round) {
    const TempDir dir;
    const Image before = write_history(dir.data_dir(), random());
    const std::vector<std::string> tables = tables_in(dir.data_dir());
    const std::string& table = tables[random() % tables.size()];
    flip_byte(table, random() % std::filesystem::file_size(table));
    const auto reader = Reader::open({.path = dir.data_dir(), .salvage = true});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    const Result<Image> found = read_image(**reader);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const Salvaged& account = *(*reader)->salvaged();
    std::set<JobId> named(account.rows_lost.ids.begin(), account.rows_lost.ids.end());
    named.insert(account.uncertain.ids.begin(), account.uncertain.ids.end());
    for (const auto& [id, row] : found->jobs) {
      const auto was = before.jobs.find(id);
      const bool is_right = was != before.jobs.end() && was->second.state == row.state;
      EXPECT_TRUE(is_right || named.contains(id)) << table << ": job " << id;
    }
    for (const auto& [id, row] : before.jobs) {
      EXPECT_TRUE(found->jobs.contains(id) || named.contains(id)) << table << ": job " << id;
    }
  }
}

}  // namespace
}  // namespace perennial::store
