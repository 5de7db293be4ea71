#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "store/offline/builder.h"
#include "store/reader.h"
#include "store/rocks/rocksdb_versions.h"
#include "store/rocks/tuning.h"
#include "tests/store/dir_state.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/long_form.h"
#include "tests/support/seed.h"

// Tables whose index, footer or properties are lost, so that they are read block by block. One
// table is damaged; the load is of few tubes and of bodies from none to some megabytes.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

// What a salvage finds.
struct Found {
  Image image;
  Salvaged account;
  std::map<JobId, std::string> bodies;
};

Found salvage(const std::string& path) {
  Found out;
  const auto reader = Reader::open({.path = path, .salvage = true});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  if (!reader.ok()) return out;
  const Result<Image> image = read_image(**reader);
  EXPECT_TRUE(image.ok());
  if (image.ok()) out.image = *image;
  out.account = *(*reader)->salvaged();
  Reader::Bodies bodies = (*reader)->bodies();
  for (const auto& [id, row] : out.image.jobs) {
    const Result<std::string_view> body = bodies.read(id);
    if (body.ok()) out.bodies[id] = *body;
  }
  return out;
}

void flip_behind_data(const std::string& table, const TableLayout& layout) {
  flip_byte(table, layout.data_bytes + 5);
}

class LostIndex : public testing::Test {
 protected:
  LostIndex() { copy_dir_to_damage(data()); }

  std::string data() const { return dir_.data_dir(); }
  std::string table_of(Family family) const { return largest_table(data() + "/db", family); }

  const TempDir dir_;
};

// Passes over the data, the only part whose damage costs something. Each run has bytes of its own.
TEST_F(LostIndex, CostsNothingWhateverByteBehindTheDataIsDamaged) {
  const uint64_t step = support::by_form(61, 7);
  std::mt19937_64 random(support::seed());
  const Image before = salvage(data()).image;
  const std::string table = table_of(Family::Ready);
  const TableLayout layout = layout_of(table);
  const std::string content = content_of(table);
  for (uint64_t at = layout.data_bytes + random() % step; at < content.size(); at += step) {
    flip_byte(table, at);
    const Found found = salvage(data());
    EXPECT_EQ(found.image, before) << at;
    EXPECT_EQ(found.account.lost_jobs() + found.account.uncertain.count, 0U) << at;
    for (const DamagedTable& damaged : found.account.tables) {
      EXPECT_TRUE(damaged.unreadable.empty()) << at;
    }
    write_file(table, content);
  }
}

struct BlocksCase {
  const char* name = "";
  Family family = Family::Ready;
  std::vector<size_t> blocks = {};
};

class LostIndexAndBlocks : public LostIndex, public testing::WithParamInterface<BlocksCase> {};

TEST_P(LostIndexAndBlocks, CostsTheRowsInTheBlocks) {
  const std::map<JobId, std::string> before = salvage(data()).bodies;
  const std::string table = table_of(GetParam().family);
  const TableLayout layout = layout_of(table);
  std::set<JobId> in_blocks;
  for (const size_t place : GetParam().blocks) {
    const TableBlock& block = layout.blocks.at(place);
    flip_byte(table, block.offset + block.bytes / 2);
    for (const auto& [id, body] : before) {
      const bool is_of_family = GetParam().family == Family::Bodies ||
                                family_of(job_states[id % job_states.size()]) == GetParam().family;
      const std::string key(view(job_key(id)));
      if (is_of_family && block.after < key && key <= block.until) in_blocks.insert(id);
    }
  }
  ASSERT_FALSE(in_blocks.empty());
  flip_behind_data(table, layout);
  const Found found = salvage(data());
  std::set<JobId> lost;
  for (const auto& [id, body] : before) {
    const auto again = found.bodies.find(id);
    if (again == found.bodies.end()) lost.insert(id);
    if (again != found.bodies.end()) {
      EXPECT_EQ(again->second, body) << id;
    }
  }
  EXPECT_EQ(lost, in_blocks);
  ASSERT_EQ(found.account.tables.size(), 1U);
  const DamagedTable& damaged = found.account.tables.front();
  ASSERT_EQ(damaged.unreadable.size(), GetParam().blocks.size());
  for (size_t i = 0; i < GetParam().blocks.size(); ++i) {
    const TableBlock& block = layout.blocks.at(GetParam().blocks[i]);
    EXPECT_EQ(damaged.unreadable[i].begin_offset, block.offset);
    EXPECT_GE(damaged.unreadable[i].end_offset, block.offset + block.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Salvage, LostIndexAndBlocks,
                         testing::Values(BlocksCase{"OneBlock", Family::Ready, {1}},
                                         BlocksCase{"TheFirstBlock", Family::Buried, {0}},
                                         BlocksCase{"TwoBlocks", Family::Delayed, {0, 2}},
                                         BlocksCase{"OnePackedBlock", Family::Bodies, {3}},
                                         BlocksCase{"TwoPackedBlocks", Family::Bodies, {1, 4}}),
                         [](const testing::TestParamInfo<BlocksCase>& one) {
                           return one.param.name;
                         });

// A block counts as found where it is whole, also where the file is cut in the next one.
TEST_F(LostIndex, CostsWhatIsCutOff) {
  const std::string table = table_of(Family::Bodies);
  const TableLayout layout = layout_of(table);
  for (const size_t kept : {layout.blocks.size() - 1, size_t{3}, size_t{1}}) {
    const TableBlock& next = layout.blocks[kept];
    fs::resize_file(table, next.offset + next.bytes / 3);
    const Found found = salvage(data());
    ASSERT_FALSE(found.bodies.empty());
    EXPECT_EQ(found.bodies.begin()->first, 1U);
    const std::string last(view(job_key(found.bodies.rbegin()->first)));
    EXPECT_EQ(found.bodies.size(), found.bodies.rbegin()->first);  // All before the cut.
    EXPECT_LE(last, layout.blocks[kept - 1].until);
    ASSERT_EQ(found.account.tables.size(), 1U);
    ASSERT_EQ(found.account.tables.front().unreadable.size(), 1U);
    EXPECT_EQ(found.account.tables.front().unreadable.front().begin_offset, next.offset);
    EXPECT_EQ(found.account.bodies_lost.count, damaged_dir_jobs - found.bodies.size());
  }
}

// The file has its length and ends with zeros: what a file system leaves of writes it has lost.
TEST_F(LostIndex, CostsWhatBecameZeros) {
  const std::string table = table_of(Family::Ready);
  const TableLayout layout = layout_of(table);
  const TableBlock& last = layout.blocks.back();
  fs::resize_file(table, last.offset + 1);
  fs::resize_file(table, layout.file_bytes);
  const Found found = salvage(data());
  EXPECT_GT(found.account.rows_lost.count, 0U);
  EXPECT_LE(found.account.rows_lost.count, rows_of_block_max);
}

// A directory with these bodies, from job 1 on.
void make_dir_of(const std::string& path, const std::vector<std::string>& bodies) {
  auto builder = Builder::begin({.path = path});
  ASSERT_TRUE(builder.ok());
  const Result<TubeId> tube = (*builder)->tube("mail");
  ASSERT_TRUE(tube.ok());
  JobId id = 0;
  for (const std::string& body : bodies) {
    const JobRow row = {
        .id = ++id, .tube = *tube, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body.size())};
    ASSERT_TRUE((*builder)->add_job(row, body).ok());
  }
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 2, .now = 1}, id + 1).ok());
}

std::string random_bytes(std::mt19937_64& random, size_t bytes) {
  std::string out(bytes, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

// Bodies that cannot be packed, that can, and of numbers that look like restart points.
std::vector<std::string> large_bodies(std::mt19937_64& random) {
  std::vector<std::string> out;
  for (int round = 0; round < 4; ++round) {
    out.push_back(random_bytes(random, 3 << 20));
    out.push_back(std::string(2 << 20, 'x'));
    out.push_back(std::string(5000, '\0'));
    std::string numbers;
    for (int i = 0; i < 1 << 17; ++i) numbers += std::string("\1\0\0\0\0\0\0\0", 8);
    out.push_back(numbers + random_bytes(random, 8 << 20));
    out.push_back("small");
  }
  return out;
}

TEST(LostIndexOfLargeBodies, CostsNothing) {
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  const std::vector<std::string> bodies = large_bodies(random);
  make_dir_of(dir.data_dir(), bodies);
  const std::string table = largest_table(dir.data_dir() + "/db", Family::Bodies);
  flip_behind_data(table, layout_of(table));
  const Found found = salvage(dir.data_dir());
  EXPECT_EQ(found.account.lost_jobs(), 0U);
  ASSERT_EQ(found.bodies.size(), bodies.size());
  for (const auto& [id, body] : found.bodies) EXPECT_TRUE(body == bodies[id - 1]) << id;
}

TEST(LostIndexOfLargeBodies, CostsTheDamagedBlock) {
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  const std::vector<std::string> bodies = large_bodies(random);
  make_dir_of(dir.data_dir(), bodies);
  const std::string table = largest_table(dir.data_dir() + "/db", Family::Bodies);
  const TableLayout layout = layout_of(table);
  flip_behind_data(table, layout);
  const auto large = std::ranges::find_if(
      layout.blocks, [](const TableBlock& block) { return block.bytes > 8 << 20; });
  ASSERT_NE(large, layout.blocks.end());
  flip_byte(table, large->offset + large->bytes / 2);
  const Found found = salvage(dir.data_dir());
  EXPECT_GE(found.account.bodies_lost.count, 1U);
  EXPECT_LE(found.account.bodies_lost.count, 3U);
  EXPECT_EQ(found.bodies.size(), bodies.size() - found.account.bodies_lost.count);
  for (const auto& [id, body] : found.bodies) EXPECT_TRUE(body == bodies[id - 1]) << id;
}

// A body that is a copy of another queue's table, in a block that is damaged. The keys in it
// contradict those around it.
class LostIndexOfABody : public testing::TestWithParam<JobId> {};

TEST_P(LostIndexOfABody, IsNoneOfItsTable) {
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  std::vector<std::string> bodies;
  for (int i = 0; i < 300; ++i) bodies.push_back(random_bytes(random, 1000));
  const std::string other = dir.path() + "/other";
  make_dir_of(other, bodies);
  for (std::string& body : bodies) body = random_bytes(random, 1000);
  bodies[GetParam() - 1] =
      content_of(largest_table(other + "/db", Family::Bodies)).substr(0, 200'000);
  make_dir_of(dir.data_dir(), bodies);
  const std::string table = largest_table(dir.data_dir() + "/db", Family::Bodies);
  const TableLayout layout = layout_of(table);
  flip_behind_data(table, layout);
  const auto large = std::ranges::max_element(layout.blocks, {}, &TableBlock::bytes);
  flip_byte(table, large->offset + large->bytes - 100);
  const Found found = salvage(dir.data_dir());
  EXPECT_GE(found.bodies.size(), bodies.size() - 20);
  EXPECT_FALSE(found.bodies.contains(GetParam()));
  EXPECT_TRUE(found.bodies.contains(300));
  ASSERT_EQ(found.account.tables.size(), 1U);
  EXPECT_EQ(found.account.tables.front().entries_read, found.bodies.size());
  EXPECT_EQ(found.account.tables.front().unreadable.size(), 1U);
  for (const auto& [id, body] : found.bodies) EXPECT_TRUE(body == bodies[id - 1]) << id;
}

INSTANTIATE_TEST_SUITE_P(Salvage, LostIndexOfABody, testing::Values(20, 150, 290));

// The tables of a data directory, made as a store makes them but without compactions.
class OurDb {
 public:
  explicit OurDb(const std::string& data_dir) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    // The directory is one of format 3.
    for (size_t place = 0; place <= place_of(Family::Notes); ++place) {
      rocksdb::ColumnFamilyOptions how = family_options(static_cast<Family>(place), {});
      how.disable_auto_compactions = true;
      families.emplace_back(std::string(family_names[place]), how);
    }
    rocksdb::DBOptions how;
    how.allow_concurrent_memtable_write = false;  // Our memtables.
    CHECK(open_db(db_, how, data_dir + "/db", families, &families_).ok());
  }
  ~OurDb() {
    CHECK(db_->Flush({}, families_).ok());
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      CHECK(db_->DestroyColumnFamilyHandle(family).ok());
    }
  }
  OurDb(const OurDb&) = delete;
  OurDb& operator=(const OurDb&) = delete;

  void single_delete(Family family, JobId id) {
    const Bytes<8> key = job_key(id);
    CHECK(db_->SingleDelete({}, families_[place_of(family)], {view(key).data(), view(key).size()})
              .ok());
  }
  std::string newest_table(Family family) const {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    const rocksdb::LiveFileMetaData* newest = nullptr;
    for (const rocksdb::LiveFileMetaData& file : files) {
      if (file.column_family_name != family_names[place_of(family)]) continue;
      if (newest == nullptr || file.largest_seqno > newest->largest_seqno) newest = &file;
    }
    CHECK(newest != nullptr);
    return newest->db_path + newest->name;
  }
  void flush() { CHECK(db_->Flush({}, families_).ok()); }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

// Every other job is deleted, and the table with the deletions is damaged.
class LostIndexOfDeletions : public LostIndex, public testing::WithParamInterface<Family> {
 protected:
  LostIndexOfDeletions() {
    OurDb db(data());
    for (JobId id = 1; id <= damaged_dir_jobs; ++id) {
      if (is_deleted(id)) db.single_delete(Family::Bodies, id);
      if (is_deleted(id)) db.single_delete(family_of(job_states[id % job_states.size()]), id);
    }
    db.flush();
    table_ = db.newest_table(GetParam());
  }
  static bool is_deleted(JobId id) { return id % 7 < 3; }

  std::string table_;
};

TEST_P(LostIndexOfDeletions, BringsNoJobBack) {
  flip_behind_data(table_, layout_of(table_));
  const Found found = salvage(data());
  ASSERT_EQ(found.account.tables.size(), 1U);
  EXPECT_GT(found.account.tables.front().entries_read, 0U);
  EXPECT_TRUE(found.account.tables.front().unreadable.empty());
  EXPECT_EQ(found.account.lost_jobs() + found.account.uncertain.count, 0U);
  for (JobId id = 1; id <= damaged_dir_jobs; ++id) {
    EXPECT_NE(found.image.jobs.contains(id), is_deleted(id)) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Salvage, LostIndexOfDeletions,
                         testing::Values(Family::Ready, Family::Buried, Family::Bodies),
                         [](const testing::TestParamInfo<Family>& one) {
                           return std::string(name_of(one.param));
                         });

// A directory whose tables are as a store's own compactions leave them.
Image write_random_history(const std::string& path, uint64_t seed) {
  StoreModel model(seed);
  auto store = Store::open({.data_dir = path});
  EXPECT_TRUE(store.ok());
  model.reopened((*store)->opening());
  for (int count = 0; count < 100; ++count) {
    Batch batch;
    model.next(batch, 40);
    EXPECT_TRUE((*store)->write(batch, true).ok());
    if (count % 15 == 14) {
      EXPECT_TRUE((*store)->flush().ok());
    }
  }
  EXPECT_TRUE((*store)->flush().ok());
  return model.image();
}

// Damages a table at random, and at least something behind its data. Returns the blocks that are
// not as they were.
std::vector<TableBlock> damage_randomly(const std::string& table, std::mt19937_64& random) {
  const TableLayout layout = layout_of(table);
  const std::string before = content_of(table);
  std::string content = before;
  const auto flip = [&](uint64_t from, uint64_t to) {
    char& byte = content[from + random() % (to - from)];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
  };
  const uint64_t flips = random() % 4;
  for (uint64_t count = 0; count < flips; ++count) flip(0, layout.data_bytes);
  flip(layout.data_bytes, layout.data_bytes + 40);
  if (random() % 4 == 0) content.resize(random() % content.size());
  if (random() % 4 == 0) {
    const uint64_t begin = random() % (content.size() + 1);
    const uint64_t bytes = std::min<uint64_t>(4096, content.size() - begin);
    content.replace(begin, bytes, bytes, '\0');
  }
  fs::remove(table);
  write_file(table, content);
  std::vector<TableBlock> out = layout.blocks;
  std::erase_if(out, [&](const TableBlock& block) {
    const uint64_t bytes = block.bytes + block_trailer_bytes;
    return block.offset + bytes <= content.size() &&
           content.compare(block.offset, bytes, before, block.offset, bytes) == 0;
  });
  return out;
}

TEST(LostIndexOfARandomHistory, CostsOnlyWhatIsInDamagedBlocks) {
  std::mt19937_64 random(support::seed());
  for (int round = 0; round < support::by_form(6, 60); ++round) {
    const TempDir dir;
    const Image before = write_random_history(dir.data_dir(), random());
    constexpr std::array families = {Family::Bodies, Family::Ready, Family::Reserved,
                                     Family::Delayed, Family::Buried};
    const Family family = families[random() % families.size()];
    const std::string table = largest_table(dir.data_dir() + "/db", family);
    const std::vector<TableBlock> damaged = damage_randomly(table, random);
    const auto is_touched = [&](JobId id) {
      const std::string key(view(job_key(id)));
      return std::ranges::any_of(damaged, [&](const TableBlock& block) {
        return (block.after.empty() || block.after < key) && key <= block.until;
      });
    };
    const Found found = salvage(dir.data_dir());
    std::set<JobId> named(found.account.rows_lost.ids.begin(), found.account.rows_lost.ids.end());
    const auto add = [&](const IdList& list) { named.insert(list.ids.begin(), list.ids.end()); };
    add(found.account.bodies_lost);
    add(found.account.uncertain);
    const std::string what =
        fmt::format("round {}, {} of {}, {} blocks damaged", round,
                    fs::path(table).filename().string(), name_of(family), damaged.size());
    for (const JobId id : named) EXPECT_TRUE(is_touched(id)) << what << ": job " << id;
    for (const auto& [id, row] : before.jobs) {
      const auto again = found.image.jobs.find(id);
      // Of a job whose newest row is lost, an older one of the same state may be there.
      const bool is_there = again != found.image.jobs.end() && again->second.state == row.state &&
                            (is_touched(id) || again->second == row);
      const bool is_whole =
          is_there && found.bodies.contains(id) && found.bodies.at(id) == body_of(id);
      EXPECT_TRUE(is_whole || named.contains(id)) << what << ": job " << id;
    }
    for (const auto& [id, row] : found.image.jobs) {
      EXPECT_TRUE(before.jobs.contains(id) || named.contains(id)) << what << ": job " << id;
    }
  }
}

}  // namespace
}  // namespace perennial::store
