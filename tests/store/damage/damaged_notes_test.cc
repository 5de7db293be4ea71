#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/iterator.h>

#include "store/damage/damage_record.h"
#include "store/damage/damaged_blocks.h"
#include "store/offline/check.h"
#include "store/reader.h"
#include "tests/store/damage/damage_fixture.h"
#include "tests/store/dir_state.h"

// P11: a damaged block of notes costs the notes in it, and nothing else. The load is of jobs
// without bodies, most of which have some notes, up to five, so that places are overwritten; it
// knows no time. The doors are reads, compactions and the scrub of an open store, starts,
// checkpoints and checks. It is blind to damage of an index or a footer, which a start refuses.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

constexpr JobId jobs_max = 500;
// A note by its job and its number.
using NoteId = std::pair<JobId, uint32_t>;

Note note_of(JobId job, uint32_t number) {
  std::mt19937_64 random(job * 100 + number);
  Note note = {.number = number, .attempt = number, .time = 7, .user = "ann"};
  note.text.resize(50 + random() % 300);
  for (char& c : note.text) c = static_cast<char>(random());  // It cannot be compressed.
  return note;
}

JobRow row_of(JobId id, uint32_t notes) {
  JobRow row = {.id = id, .ttr_s = 1};
  if (notes > 0) row.fields = JobFields{.notes = notes};
  return row;
}

class DamagedNotes : public DamageFixture {
 protected:
  void open() {
    had_.clear();
    DamageFixture::open(
        [this](const JobRow& row) { had_[row.id] = row.fields ? row.fields->notes : 0; });
  }
  std::vector<std::string> tables() const { return DamageFixture::tables(Family::Notes); }

  void put(JobId last) {
    Batch batch;
    batch.add(TubeStored{.tube = 0, .name = "default"});
    for (JobId id = 1; id <= last; ++id) {
      batch.add(JobMoved{.id = id, .before = {}, .after = row_of(id, 0), .promised = true});
      had_[id] = 0;
    }
    write(batch);
  }
  // A note more for each of these jobs.
  void add(const std::vector<JobId>& ids) {
    Batch batch;
    for (const JobId id : ids) {
      const uint32_t number = ++had_.at(id);
      batch.add(JobMoved{
          .id = id, .before = JobState::Ready, .after = row_of(id, number), .promised = true});
      batch.add(NoteStored{.job = id, .note = note_of(id, number)});
    }
    write(batch);
  }
  void remove(const std::vector<JobId>& ids) {
    Batch batch;
    for (const JobId id : ids) {
      batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
      if (had_.at(id) > 0) batch.add(NotesRemoved{.job = id, .kept = notes_kept(had_.at(id))});
      had_.erase(id);
    }
    write(batch);
  }
  std::vector<JobId> jobs(const std::function<bool(JobId)>& is_wanted) const {
    std::vector<JobId> out;
    for (const auto& [id, had] : had_) {
      if (is_wanted(id)) out.push_back(id);
    }
    return out;
  }

  // Two tables of level 0 are compacted with those below.
  void flush_and_compact() {
    ASSERT_TRUE(store_->flush().ok());
    for (int i = 0; i < 1000 && tables().size() > 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_EQ(tables().size(), 1U);
  }

  // Leaves one table of notes, of the lowest level. Job N has N modulo 6 notes.
  void make(JobId last = jobs_max) {
    open();
    put(last);
    for (uint32_t number = 1; number <= 3; ++number) {
      add(jobs([&](JobId id) { return id % 6 >= number; }));
    }
    ASSERT_TRUE(store_->flush().ok());
    for (uint32_t number = 4; number <= 5; ++number) {
      add(jobs([&](JobId id) { return id % 6 >= number; }));
    }
    flush_and_compact();
    close();
  }

  // The notes whose rows are in a block.
  std::set<NoteId> notes_in(const std::string& table, const TableBlock& block) const {
    rocksdb::SstFileReader reader{rocksdb::Options()};
    EXPECT_TRUE(reader.Open(table).ok());
    const std::unique_ptr<rocksdb::Iterator> at(reader.NewIterator({}));
    std::set<NoteId> out;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::string key = at->key().ToString();
      if (key <= block.after || key > block.until) continue;
      const Result<NoteStored> row = decode_note(key, at->value().ToStringView());
      EXPECT_TRUE(row.ok());
      out.emplace(row->job, row->note.number);
    }
    return out;
  }

  bool keeps(const NoteId& note) const {
    const auto job = had_.find(note.first);
    return job != had_.end() && is_kept(note.second, job->second);
  }
  // Reads all notes. Returns those that jobs keep and that are not shown. All others are right.
  // Those that are shown although no job keeps them are in `back_`.
  std::set<NoteId> lost() {
    back_.clear();
    std::set<NoteId> out;
    for (JobId id = 1; id <= jobs_max; ++id) {
      const Result<std::vector<Note>> found = store_->read_notes(id);
      EXPECT_TRUE(found.ok()) << found.status().message();
      std::set<uint32_t> shown;
      uint32_t last = 0;
      for (const Note& note : found.ok() ? *found : std::vector<Note>()) {
        EXPECT_EQ(note, note_of(id, note.number));
        EXPECT_GT(note.number, last) << "the oldest first";
        last = note.number;
        shown.insert(note.number);
        if (!keeps({id, note.number})) back_.emplace(id, note.number);
      }
      const auto job = had_.find(id);
      const uint32_t had = job == had_.end() ? 0 : job->second;
      for (uint32_t number = had - notes_kept(had) + 1; number <= had; ++number) {
        if (!shown.contains(number)) out.emplace(id, number);
      }
    }
    return out;
  }
  // Those of `notes` that jobs still keep.
  std::set<NoteId> kept_of(std::set<NoteId> notes) const {
    std::erase_if(notes, [this](const NoteId& note) { return !keeps(note); });
    return notes;
  }

  // What a check finds. It must say that a server starts.
  std::vector<std::string> check() {
    std::vector<std::string> faults;
    const auto summary = check_directory(
        {.path = dir_.data_dir(),
         .fault = [&](const Fault& fault) { faults.push_back(fault.where + ": " + fault.what); },
         .env = env_.get()});
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_TRUE(summary.ok() && summary->starts);
    return faults;
  }
  bool has_record() const { return fs::exists(db_path() + "/" + damage_record_name); }

  std::map<JobId, uint32_t> had_;  // How many notes each job has had.
  std::set<NoteId> back_;
};

class DamagedBlockOfNotes : public DamagedNotes, public testing::WithParamInterface<Where> {
 protected:
  // Damages the one table. Returns the notes in it.
  std::set<NoteId> damage() {
    table_ = tables().front();
    const std::vector<TableBlock> blocks = blocks_of(table_);
    EXPECT_GT(blocks.size(), 8U);
    const Where& where = GetParam();
    const size_t first = where.first > 1000 ? blocks.size() - (where.first - 1000) : where.first;
    std::set<NoteId> out;
    for (size_t i = first; i < first + where.count; ++i) out.merge(notes_in(table_, blocks[i]));
    if (where.unreadable) {
      disk_->set(table_, blocks[first].offset + 17, 512);
      return out;
    }
    for (size_t i = first; i < first + where.count; ++i) {
      flip_byte(table_, blocks[i].offset + blocks[i].bytes / 2);
    }
    return out;
  }
  void expect_contained() {
    expect_no_failure();
    EXPECT_EQ(store_->damaged_blocks().size(), GetParam().count) << events();
    for (const DamagedBlock& block : store_->damaged_blocks()) {
      EXPECT_EQ(block.family, Family::Notes);
    }
    EXPECT_THAT(store_->damage(), HasSubstr("(notes)"));
    EXPECT_TRUE(store_->damaged_rows().empty()) << "the next start is not refused";
  }

  std::string table_;
};

TEST_P(DamagedBlockOfNotes, ACompactionGoesOnWithoutTheBlock) {
  make();
  const std::set<NoteId> in_block = damage();
  open();
  // Tables of level 0 that overlap all of the one below: some jobs end, and others get a note.
  remove(jobs([](JobId id) { return id % 10 == 3; }));
  add(jobs([](JobId id) { return id % 5 == 1; }));
  ASSERT_TRUE(store_->flush().ok());
  add(jobs([](JobId id) { return id % 7 == 2; }));
  flush_and_compact();
  EXPECT_FALSE(fs::exists(table_)) << "a compaction has replaced it";
  expect_contained();
  EXPECT_EQ(lost(), kept_of(in_block));
  EXPECT_FALSE(lost().empty());
  EXPECT_EQ(back_, std::set<NoteId>());
  // The store writes and compacts on.
  add(jobs([](JobId id) { return id % 3 == 0; }));
  ASSERT_TRUE(store_->flush().ok());
  add(jobs([](JobId id) { return id % 3 == 1; }));
  flush_and_compact();
  expect_no_failure();
  EXPECT_EQ(lost(), kept_of(in_block));
}

TEST_P(DamagedBlockOfNotes, AReadFindsTheBlockAndATableWithoutItIsWritten) {
  make();
  const std::set<NoteId> in_block = damage();
  open();
  EXPECT_EQ(lost(), in_block);
  expect_contained();
  rewrite();
  expect_contained();
  EXPECT_EQ(lost(), in_block);
  EXPECT_FALSE(fs::exists(table_));
  for (const std::string& table : tables()) blocks_of(table);  // All of them are whole.
  EXPECT_TRUE(fs::exists(dir_.data_dir() + "/damaged")) << "the damaged table is kept";
}

TEST_P(DamagedBlockOfNotes, TheScrubFindsTheBlock) {
  make();
  const std::set<NoteId> in_block = damage();
  open();
  for (Nanos second = 1; store_->scrub_figures().passes == 0; ++second) {
    store_->scrub(second * nanos_per_second);
  }
  expect_contained();
  rewrite();
  EXPECT_EQ(lost(), in_block);
  for (const std::string& table : tables()) blocks_of(table);
}

// No start needs a note, so a start forgets the block as soon as its table is gone.
TEST_P(DamagedBlockOfNotes, ItGoesOnOverRestarts) {
  make();
  const std::set<NoteId> in_block = damage();
  open();
  EXPECT_EQ(lost(), in_block);
  store_.reset();  // As a crash leaves it, with the damaged table.
  open();
  EXPECT_TRUE(has_record());
  EXPECT_EQ(had_.size(), jobs_max);
  EXPECT_EQ(lost(), in_block);
  rewrite();
  close();
  EXPECT_TRUE(has_record());
  const std::vector<std::string> faults = check();
  EXPECT_EQ(faults.size(), in_block.size());
  for (const std::string& fault : faults) EXPECT_THAT(fault, EndsWith("was in a damaged block"));
  disk_->set("", 0, 0);
  open();
  EXPECT_FALSE(has_record());
  EXPECT_EQ(lost(), in_block);
  EXPECT_EQ(store_->damage(), "");
  expect_no_failure();
}

TEST_P(DamagedBlockOfNotes, ACheckOfADamagedTableSaysThatAServerStarts) {
  make();
  damage();
  const std::vector<std::string> faults = check();
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults.front(), HasSubstr("notes: the table file is damaged"));
}

TEST_P(DamagedBlockOfNotes, ACheckpointOfWhatIsLeftStarts) {
  make();
  const std::set<NoteId> in_block = damage();
  open();
  EXPECT_EQ(lost(), in_block);
  rewrite();
  const std::string copy = dir_.path() + "/copy";
  ASSERT_TRUE(store_->create_checkpoint(copy).ok());
  close();
  disk_->set("", 0, 0);
  fs::remove_all(dir_.data_dir());
  fs::rename(copy, dir_.data_dir());
  EXPECT_TRUE(has_record());
  open();
  EXPECT_EQ(lost(), in_block);
  expect_no_failure();
}

INSTANTIATE_TEST_SUITE_P(Store, DamagedBlockOfNotes, each_where(),
                         [](const auto& one) { return std::string(one.param.name); });

// Each block of the table in turn, and each with the next one.
TEST_F(DamagedNotes, EachBlockOfATableMayBeDamaged) {
  make(250);
  const std::string saved = dir_.path() + "/saved";
  fs::copy(dir_.data_dir(), saved, fs::copy_options::recursive);
  const std::string name = fs::path(tables().front()).filename();
  const std::vector<TableBlock> blocks = blocks_of(tables().front());
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t count = 1; count <= 2 && i + count <= blocks.size(); ++count) {
      SCOPED_TRACE(fmt::format("block {} and {} more", i, count - 1));
      fs::remove_all(dir_.data_dir());
      fs::copy(saved, dir_.data_dir(), fs::copy_options::recursive);
      std::set<NoteId> in_blocks;
      const std::string table = db_path() + "/" + name;
      for (size_t at = i; at < i + count; ++at) in_blocks.merge(notes_in(table, blocks[at]));
      for (size_t at = i; at < i + count; ++at) flip_byte(table, blocks[at].offset);
      open();
      EXPECT_EQ(lost(), in_blocks);
      rewrite();
      EXPECT_EQ(store_->damaged_blocks().size(), count);
      for (const NoteId& note : in_blocks) {
        const JobId job = note.first;
        EXPECT_TRUE(std::ranges::any_of(store_->damaged_blocks(), [job](const DamagedBlock& block) {
          return block.first <= job && job <= block.last;
        })) << job;
      }
      EXPECT_EQ(lost(), in_blocks);
      expect_no_failure();
      store_.reset();
    }
  }
}

// The newer table of level 0 has deletions, and notes that take the places of others. What it
// removed is back when it is damaged, and the next start removes it.
TEST_F(DamagedNotes, NotesWhoseRemovalIsLostAreRemovedByAStart) {
  make(120);
  const std::string base = tables().front();
  open();
  remove(jobs([](JobId id) { return id % 6 == 2; }));
  add(jobs([](JobId id) { return id % 6 == 3; }));  // Note 4, in the place of note 1.
  const std::set<NoteId> before = lost();
  ASSERT_EQ(before, std::set<NoteId>());
  close();
  std::set<NoteId> in_newer;
  for (const std::string& table : tables()) {
    if (table == base) continue;
    for (const TableBlock& block : blocks_of(table)) {
      in_newer.merge(notes_in(table, block));
      flip_byte(table, block.offset + 10);
    }
  }
  EXPECT_EQ(in_newer.size(), 20U);
  open();
  EXPECT_EQ(lost(), in_newer);
  // Notes 1 and 2 of twenty jobs that are gone. Of the others note 1 is not told from a note that
  // is kept, because note 4 is lost.
  EXPECT_EQ(back_.size(), 40U + 20U);
  rewrite();
  EXPECT_EQ(lost(), in_newer);
  store_.reset();
  std::vector<std::string> faults = check();
  EXPECT_EQ(faults.size(), in_newer.size()) << "the notes that are back are no faults";
  for (const std::string& fault : faults) EXPECT_THAT(fault, EndsWith("was in a damaged block"));
  open();
  EXPECT_THAT(events(), HasSubstr("store.damage_of_notes blocks=1 removed=60"));
  EXPECT_EQ(lost(), in_newer);
  EXPECT_EQ(back_, std::set<NoteId>());
  EXPECT_TRUE(has_record());
  close();
  open();
  EXPECT_FALSE(has_record()) << "nothing is back, and the table is gone";
  EXPECT_EQ(back_, std::set<NoteId>());
  close();
  EXPECT_EQ(check().size(), in_newer.size());
  expect_no_failure();
}

// As long as no start has removed them, the newest note tells which others are kept.
TEST_F(DamagedNotes, ANoteThatAnotherHasReplacedIsNotShownBesideANewerOne) {
  make(12);
  const std::string base = tables().front();
  open();
  add({3});  // Note 4.
  close();
  for (const std::string& table : tables()) {
    if (table != base) flip_byte(table, 10);
  }
  open();
  EXPECT_EQ(lost(), (std::set<NoteId>{{3, 4}}));
  add({3});
  EXPECT_EQ(lost(), (std::set<NoteId>{{3, 4}}));
  EXPECT_EQ(back_, std::set<NoteId>());
  add({3});
  add({3});
  EXPECT_EQ(lost(), std::set<NoteId>());
  expect_no_failure();
}

// A block of one key has no place for another one. The block's substitute then deletes that key,
// and must not delete a newer note.
TEST_F(DamagedNotes, ATableOfOneNoteIsContainedAndANewerOneInItsPlaceIsKept) {
  open();
  put(2);
  add({1, 2});
  ASSERT_TRUE(store_->flush().ok());
  remove({2});
  flush_and_compact();
  const std::string base = tables().front();
  ASSERT_EQ(notes_in(base, blocks_of(base).front()), (std::set<NoteId>{{1, 1}}));
  add({1});
  add({1});
  add({1});  // Note 4, in the place of note 1.
  close();
  ASSERT_EQ(tables().size(), 2U);
  flip_byte(base, 10);
  open();
  EXPECT_EQ(lost(), std::set<NoteId>());
  rewrite();
  EXPECT_EQ(store_->damaged_blocks().size(), 1U) << events();
  EXPECT_EQ(lost(), std::set<NoteId>());
  add({1});
  flush_and_compact();
  EXPECT_EQ(lost(), std::set<NoteId>());
  expect_no_failure();
}

// A snapshot keeps many versions of one note, which fill several blocks.
TEST_F(DamagedNotes, VersionsOfOneNoteOverSeveralBlocksStayInOrder) {
  open();
  put(1);
  std::vector<Snapshot> snapshots;
  for (int i = 0; i < 3 * 250; ++i) {
    add({1});
    snapshots.push_back(store_->snapshot());
  }
  ASSERT_TRUE(store_->flush(Family::Notes).ok());
  const std::string table = tables().front();
  const std::vector<TableBlock> blocks = blocks_of(table);
  ASSERT_GT(blocks.size(), 8U);
  for (const size_t i : {0, 2, 3, 5}) flip_byte(table, blocks[i].offset + 10);
  EXPECT_TRUE(store_->read_notes(1).ok());
  for (const Snapshot& snapshot : snapshots) {
    const Result<std::vector<Note>> found = store_->read_notes(1, &snapshot);
    ASSERT_TRUE(found.ok()) << found.status().message();
    for (const Note& note : *found) EXPECT_EQ(note, note_of(1, note.number));
  }
  EXPECT_EQ(store_->damaged_blocks().size(), 4U) << events();
  rewrite();
  EXPECT_FALSE(fs::exists(table)) << events();
  for (const std::string& one : tables()) blocks_of(one);
  for (const Snapshot& snapshot : snapshots) EXPECT_TRUE(store_->read_notes(1, &snapshot).ok());
  expect_no_failure();
  snapshots.clear();
}

// The deletion of a row that is written and removed with Delete must not be a SingleDelete.
TEST(Substitute, HasTheKindOfDeletionThatTheRowsOfItsFamilyHave) {
  const auto kind_of = [](Family family) {
    for (const std::string& after :
         {std::string("abc"), std::string(8, 'k'), std::string(9, 'k')}) {
      const std::string key = key_between(family, after, 7);
      EXPECT_GT(key.size(), key_bytes_of(family)) << "no row has the key";
      EXPECT_EQ(key.substr(0, after.size()), after);
    }
    const std::string key = key_between(family, "abc", 7);
    const Result<std::string> block = make_substitute(family, 100, key, 5);
    EXPECT_TRUE(block.ok());
    EXPECT_EQ(block->size(), 100 + block_trailer_bytes);
    return static_cast<int>((*block)[block->find(key) + key.size()]);
  };
  EXPECT_EQ(kind_of(Family::Bodies), 7);
  EXPECT_EQ(kind_of(Family::Notes), 0);
  EXPECT_EQ(kind_of(Family::Ended), 7);
}

// Its keys have different lengths, which their first bytes tell, and may be long.
TEST(Substitute, OfTheOrderOfEndedJobsDeletesNoRow) {
  for (const size_t name_bytes : {1, 4, 100, 110, 111, 200}) {
    const std::string row = ended_order_key(std::string(name_bytes, 'm'), 7);
    for (size_t bytes = 1; bytes <= row.size(); ++bytes) {
      const std::string key = key_between(Family::EndedOrder, row.substr(0, bytes), 3);
      EXPECT_GT(key.size(), row.size());
      EXPECT_EQ(key.substr(0, bytes), row.substr(0, bytes));
      const Result<std::string> block = make_substitute(Family::EndedOrder, 500, key, 5);
      ASSERT_TRUE(block.ok());
      EXPECT_EQ(block->size(), 500 + block_trailer_bytes);
      EXPECT_EQ((*block)[block->find(key) + key.size()], 7);
    }
  }
}

TEST(Substitute, HasTheBytesOfTheBlockAndNoValue) {
  const std::string key(8, 'k');
  const size_t least = 3 + key.size() + 8 + 2 * sizeof(uint32_t);
  EXPECT_FALSE(make_substitute(Family::Notes, least - 1, key, 5).ok());
  for (const size_t bytes : {0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 70'000}) {
    const Result<std::string> block = make_substitute(Family::Notes, least + bytes, key, 5);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->size(), least + bytes + block_trailer_bytes);
    // Its length is a varint whose last byte is the first without the highest bit.
    EXPECT_EQ(block->substr(2, bytes % 4), std::string(bytes % 4, '\x80'));
    EXPECT_EQ(block->substr(2 + bytes % 4, 1 + key.size()), '\0' + key);
  }
}

}  // namespace
}  // namespace perennial::store
