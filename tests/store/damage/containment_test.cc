#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "store/commit/housekeeper.h"
#include "store/damage/damage_record.h"
#include "store/offline/check.h"
#include "tests/store/damage/damage_fixture.h"

// P11: a damaged block of bodies costs the jobs whose bodies are in it, and nothing else. The load
// is of jobs without optional fields, in one tube, whose bodies fill up to a few hundred blocks; it
// knows no time. The doors are reads and compactions of an open store, and starts. It is blind to
// damage of an index or a footer, which a start refuses.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr JobId jobs_max = 1500;

std::string body_of(JobId id) {
  std::mt19937_64 random(id);
  std::string body(id % 7 == 0 ? 0 : 100 + random() % 200, '\0');
  for (char& c : body) c = static_cast<char>(random());  // It cannot be compressed.
  return body;
}

JobRow row_of(JobId id) {
  return {.id = id, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body_of(id).size())};
}

class ContainmentTest : public DamageFixture {
 protected:
  void open() {
    jobs_.clear();
    DamageFixture::open([this](const JobRow& row) { jobs_.insert(row.id); });
  }

  void put(JobId first, JobId last) {
    Batch batch;
    if (first == 1) batch.add(TubeStored{.tube = 0, .name = "default"});
    std::vector<std::string> bodies;
    for (JobId id = first; id <= last; ++id) bodies.push_back(body_of(id));
    for (JobId id = first; id <= last; ++id) {
      batch.add(JobMoved{.id = id, .before = {}, .after = row_of(id), .promised = true},
                bodies[id - first]);
      jobs_.insert(id);
    }
    write(batch);
  }

  void remove(const std::vector<JobId>& ids) {
    Batch batch;
    for (const JobId id : ids) {
      batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
      jobs_.erase(id);
    }
    write(batch);
  }

  // Leaves the jobs in tables of the lowest level.
  void make(JobId last) {
    open();
    put(1, last);
    close();
  }

  std::vector<std::string> tables() const { return DamageFixture::tables(Family::Bodies); }

  // Reads all bodies, and returns the jobs that have none. All others have the right one.
  std::set<JobId> lost() {
    std::set<JobId> out;
    for (const JobId id : jobs_) {
      const Result<Body> body = store_->read_body(id);
      if (body.ok()) {
        EXPECT_EQ(body->view(), body_of(id));
      } else {
        EXPECT_TRUE(body.status().code() == StatusCode::Corruption ||
                    body.status().code() == StatusCode::NotFound)
            << body.status().message();
        out.insert(id);
      }
    }
    return out;
  }

  std::set<JobId> in_damaged_blocks() const {
    std::set<JobId> out;
    for (const DamagedBlock& block : store_->damaged_blocks()) {
      for (const JobId id : jobs_) {
        if (block.first <= id && id <= block.last) out.insert(id);
      }
    }
    return out;
  }

  std::set<JobId> jobs_;
};

class DamagedBlockTest : public ContainmentTest, public testing::WithParamInterface<Where> {
 protected:
  void damage() {
    const std::string path = tables().front();
    const std::vector<TableBlock> blocks = blocks_of(path);
    ASSERT_GT(blocks.size(), 8U);
    const Where& where = GetParam();
    const size_t first = where.first > 1000 ? blocks.size() - (where.first - 1000) : where.first;
    if (where.unreadable) {
      disk_->set(path, blocks[first].offset + 17, 512);
      return;
    }
    for (size_t i = first; i < first + where.count; ++i) {
      flip_byte(path, blocks[i].offset + blocks[i].bytes / 2);
    }
  }
};

// The seen case: nearly all jobs are deleted unread, and then the server is idle.
TEST_P(DamagedBlockTest, ACompactionGoesOnWithoutTheBlock) {
  make(jobs_max);
  damage();
  open();
  std::vector<JobId> gone;
  for (JobId id = 1; id <= jobs_max; ++id) {
    if (id % 10 != 0) gone.push_back(id);
  }
  remove(gone);
  ASSERT_TRUE(store_->flush().ok());
  Housekeeper housekeeper(*store_);
  std::atomic<bool> cancelled = false;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
  expect_no_failure();
  EXPECT_EQ(store_->damaged_blocks().size(), GetParam().count) << events_;
  EXPECT_EQ(lost(), in_damaged_blocks());
  EXPECT_FALSE(lost().empty());
  EXPECT_LE(lost().size(), 20 * GetParam().count) << "a block has some hundred bodies";
}

TEST_P(DamagedBlockTest, AReadFindsTheBlockAndATableWithoutItIsWritten) {
  make(jobs_max);
  damage();
  open();
  const std::set<JobId> lost_before = lost();
  EXPECT_FALSE(lost_before.empty());
  EXPECT_EQ(store_->damaged_blocks().size(), GetParam().count) << events_;
  rewrite();
  expect_no_failure();
  EXPECT_EQ(store_->damaged_blocks().size(), GetParam().count) << events_;
  EXPECT_EQ(lost(), lost_before);
  EXPECT_EQ(in_damaged_blocks(), lost_before);
  for (const std::string& table : tables()) blocks_of(table);  // All of them are whole.
  EXPECT_TRUE(fs::exists(dir_.data_dir() + "/damaged")) << "the damaged table is kept";
}

TEST_P(DamagedBlockTest, ItGoesOnOverRestartsUntilTheJobsAreGone) {
  make(jobs_max);
  damage();
  open();
  const std::set<JobId> lost_before = lost();
  rewrite();
  for (int start = 0; start < 2; ++start) {
    if (start == 0) {
      store_.reset();  // As a crash leaves it.
    } else {
      close();
    }
    disk_->set("", 0, 0);
    open();
    EXPECT_EQ(jobs_.size(), jobs_max);
    EXPECT_EQ(lost(), lost_before);
    EXPECT_EQ(store_->damaged_blocks().size(), GetParam().count);
  }
  remove({lost_before.begin(), lost_before.end()});
  ASSERT_TRUE(store_->flush().ok());
  std::atomic<bool> cancelled = false;
  close();
  open();
  ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
  remove({*jobs_.begin()});
  close();
  open();
  EXPECT_EQ(lost(), std::set<JobId>());
  expect_no_failure();
}

// P8: the number of bodies by which compactions are chosen is not that of the tables any more.
TEST_P(DamagedBlockTest, ADegradedStoreGivesItsSpaceBackWhenTheJobsEnd) {
  make(jobs_max);
  damage();
  open();
  ASSERT_FALSE(lost().empty());
  rewrite();
  close();
  disk_->set("", 0, 0);
  open();
  remove({jobs_.begin(), jobs_.end()});
  ASSERT_TRUE(store_->flush().ok());
  std::atomic<bool> cancelled = false;
  // A compaction of RocksDB's own may be under way, and is not disturbed.
  for (int i = 0; i < 500 && !tables().empty(); ++i) {
    ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(tables(), std::vector<std::string>());
  expect_no_failure();
}

TEST_P(DamagedBlockTest, ACheckpointOfWhatIsLeftStarts) {
  make(jobs_max);
  damage();
  open();
  const std::set<JobId> lost_before = lost();
  rewrite();
  const std::string copy = dir_.path() + "/copy";
  ASSERT_TRUE(store_->create_checkpoint(copy).ok());
  close();
  disk_->set("", 0, 0);
  fs::remove_all(dir_.data_dir());
  fs::rename(copy, dir_.data_dir());
  open();
  EXPECT_EQ(jobs_.size(), jobs_max);
  EXPECT_EQ(lost(), lost_before);
}

INSTANTIATE_TEST_SUITE_P(Store, DamagedBlockTest, each_where(),
                         [](const auto& one) { return std::string(one.param.name); });

// A check of a directory knows of the damage as a start does: without it, the tables have more or
// fewer rows than the check finds.
TEST_P(DamagedBlockTest, ACheckFindsTheJobsWithoutABodyAndNoOtherFault) {
  make(jobs_max);
  damage();
  open();
  const std::set<JobId> lost_before = lost();
  rewrite();
  close();
  disk_->set("", 0, 0);
  const Result<CheckSummary> degraded = check_directory({.path = dir_.data_dir()});
  ASSERT_TRUE(degraded.ok()) << degraded.status().message();
  EXPECT_EQ(degraded->faults, lost_before.size());
  EXPECT_TRUE(degraded->starts);
  open();
  remove({lost_before.begin(), lost_before.end()});
  close();
  std::string faults;
  const Result<CheckSummary> over = check_directory(
      {.path = dir_.data_dir(), .fault = [&](const Fault& fault) { faults += fault.what + "\n"; }});
  ASSERT_TRUE(over.ok()) << over.status().message();
  EXPECT_EQ(faults, "");
}

// Level 0 has the tombstones of jobs that are below. Where the block with them is damaged, the
// deleted bodies are back. Their jobs are not, and the next start removes them.
TEST_F(ContainmentTest, ABodyWhoseDeletionIsLostIsRemoved) {
  make(200);
  open();
  std::vector<JobId> gone;
  for (JobId id = 2; id < 200; ++id) gone.push_back(id);
  remove(gone);
  put(201, 202);
  close();
  ASSERT_GE(tables().size(), 2U);
  for (const std::string& path : tables()) {
    const std::vector<TableBlock> blocks = blocks_of(path);
    if (blocks.size() > 1) continue;  // That of the first 200.
    flip_byte(path, blocks[0].offset + 10);
  }
  open();
  EXPECT_EQ(lost(), (std::set<JobId>{201, 202})) << "what lies below the block can be read";
  rewrite();
  store_.reset();
  std::string faults;
  const Result<CheckSummary> summary = check_directory(
      {.path = dir_.data_dir(), .fault = [&](const Fault& fault) { faults += fault.what + "\n"; }});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const std::string lost_body = "the job has lost its body to a damaged block\n";
  EXPECT_EQ(faults, lost_body + lost_body) << "the bodies that are back are no faults";
  EXPECT_TRUE(summary->starts);
  open();
  expect_no_failure();
  EXPECT_EQ(jobs_, (std::set<JobId>{1, 200, 201, 202}));
  EXPECT_EQ(lost(), (std::set<JobId>{201, 202}));
  EXPECT_FALSE(store_->read_body(100).ok());
}

// Each block of a table in turn, and each with the next one, read through a store: what is not in
// them is whole, and RocksDB's own checks of order and counts pass when the table is rewritten.
TEST_F(ContainmentTest, EachBlockOfATableMayBeDamaged) {
  make(900);
  const std::string saved = dir_.path() + "/saved";
  fs::copy(dir_.data_dir(), saved, fs::copy_options::recursive);
  const std::vector<TableBlock> blocks = blocks_of(tables().front());
  const std::string name = fs::path(tables().front()).filename();
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t count = 1; count <= 2 && i + count <= blocks.size(); ++count) {
      SCOPED_TRACE("block " + std::to_string(i) + " and " + std::to_string(count - 1) + " more");
      fs::remove_all(dir_.data_dir());
      fs::copy(saved, dir_.data_dir(), fs::copy_options::recursive);
      for (size_t at = i; at < i + count; ++at) {
        flip_byte(db_path() + "/" + name, blocks[at].offset);
      }
      open();
      const std::set<JobId> lost_before = lost();
      rewrite();
      EXPECT_EQ(store_->damaged_blocks().size(), count);
      EXPECT_EQ(lost(), lost_before);
      expect_no_failure();
      store_.reset();
    }
  }
}

// The state of the queue is another thing: a store never goes on without it.
TEST_F(ContainmentTest, DamageOfAStateIsAFailure) {
  make(jobs_max);
  std::string ready;
  for (const auto& entry : fs::directory_iterator(db_path())) {
    rocksdb::SstFileReader reader{rocksdb::Options()};
    if (entry.path().extension() != ".sst" || !reader.Open(entry.path()).ok()) continue;
    if (reader.GetTableProperties()->column_family_name == "ready") ready = entry.path();
  }
  open();
  flip_byte(ready, 40'000);
  std::vector<JobId> gone;
  for (JobId id = 1; id < jobs_max; ++id) gone.push_back(id);
  remove(gone);
  ignore(store_->flush(), "the failure is looked for below");
  std::atomic<bool> cancelled = false;
  ignore(store_->compact_tombstones(cancelled, 0), "likewise");
  const std::lock_guard lock(mutex_);
  EXPECT_NE(fatal_.find("block checksum mismatch"), std::string::npos) << fatal_;
}

TEST(DamageRecord, IsReadAsItWasWritten) {
  const std::vector<DamagedBlock> blocks = {
      {.table = 12, .offset = 0, .bytes = 16389, .first = 1, .last = 88, .problem = "a\nb"},
      {.table = 9, .offset = 77, .bytes = 40, .first = 5, .last = 5, .problem = ""}};
  const Result<std::vector<DamagedBlock>> read = decode_damage_record(encode_damage_record(blocks));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].problem, "a b");
  EXPECT_EQ((*read)[1], blocks[1]);
}

// 1.0 reads the first version.
TEST(DamageRecord, NamesFamiliesOnlyWhereNotAllBlocksAreOfBodies) {
  std::vector<DamagedBlock> blocks = {
      {.table = 12, .offset = 4, .bytes = 9, .first = 1, .last = 8, .problem = "x y"}};
  const auto lines_of = [](const std::string& text) { return text.substr(0, text.find("xxh3 ")); };
  EXPECT_EQ(lines_of(encode_damage_record(blocks)), "perennial damaged-blocks 1\n12 4 9 1 8 x y\n");
  blocks.push_back({.family = Family::Notes,
                    .table = 13,
                    .offset = 0,
                    .bytes = 9,
                    .first = 2,
                    .last = 3,
                    .problem = "z"});
  const std::string text = encode_damage_record(blocks);
  EXPECT_EQ(lines_of(text),
            "perennial damaged-blocks 2\nbodies 12 4 9 1 8 x y\nnotes 13 0 9 2 3 z\n");
  const Result<std::vector<DamagedBlock>> read = decode_damage_record(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, blocks);
  // A block of a state is never contained, so that the file was not written by a store.
  blocks[1].family = Family::Ready;
  EXPECT_FALSE(decode_damage_record(encode_damage_record(blocks)).ok());
}

TEST(DamageRecord, IsRefusedIfAnyByteIsDamagedOrMissing) {
  for (const Family family : {Family::Bodies, Family::Notes}) {
    const std::string text = encode_damage_record(
        {{.family = family, .table = 12, .offset = 4, .bytes = 9, .first = 1, .last = 8}});
    for (size_t i = 0; i < text.size(); ++i) {
      std::string damaged = text;
      damaged[i] ^= 1;
      EXPECT_FALSE(decode_damage_record(damaged).ok()) << i;
      EXPECT_FALSE(decode_damage_record(text.substr(0, i)).ok()) << i;
    }
  }
}

}  // namespace
}  // namespace perennial::store
