#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/offline/builder.h"
#include "store/offline/check.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/raw_db.h"
#include "tests/store/temp_dir.h"

// The notes of jobs: their bytes, in batches, in a store, and what offline tools make of them.
namespace perennial::store {
namespace {

Note note(uint32_t number, std::string text = "why") {
  return {.number = number,
          .attempt = number + 10,
          .time = 1'000 + static_cast<Nanos>(number),
          .user = "ann",
          .text = std::move(text)};
}

NoteStored note_of(JobId job, uint32_t number, std::string text = "why") {
  return {.job = job, .note = note(number, std::move(text))};
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

JobRow row_of(JobId id, uint32_t notes) {
  JobRow row = {.id = id, .tube = 1, .ttr_s = 1};
  if (notes > 0) row.fields = JobFields{.notes = notes};
  return row;
}

// -- Bytes.

TEST(Notes, HaveTheseBytes) {
  EXPECT_EQ(hex(view(note_key(0x0102030405060708, 2))), "010203040506070802");
  const Note one = {.number = 0x01020304,
                    .attempt = 0x11121314,
                    .time = 0x2122232425262728,
                    .user = "ann",
                    .text = "hi"};
  EXPECT_EQ(hex(encode(one)),
            "01000000"
            "04030201"
            "14131211"
            "2827262524232221"
            "03616e6e"
            "6869");
}

TEST(Notes, EachLimitDecodesToItself) {
  for (const Note& one :
       {Note{.number = 1, .text = "x"},
        Note{.number = UINT32_MAX, .attempt = UINT32_MAX, .time = INT64_MAX, .text = "x"},
        Note{.number = 2,
        .user = std::string(note_user_bytes_max, 'u'),
        .text = std::string(note_bytes_max, '\0')}}) {
    const auto key = note_key(7, place_of_note(one.number));
    const Result<NoteStored> back = decode_note(view(key), encode(one));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, (NoteStored{.job = 7, .note = one}));
  }
  EXPECT_NE(problem(Note{.number = 1, .text = std::string(note_bytes_max + 1, 'x')}), "");
  EXPECT_NE(
      problem(Note{.number = 1, .user = std::string(note_user_bytes_max + 1, 'u'), .text = "x"}),
      "");
}

TEST(Notes, ThatAreNotWhatWasWrittenAreRefused) {
  const std::string key(view(note_key(7, 0)));
  const std::string good = encode(note(1));
  const auto changed = [&good](size_t at, char byte) {
    std::string out = good;
    out[at] = byte;
    return out;
  };
  struct Case {
    std::string key;
    std::string value;
    const char* why;
  };
  for (const Case& one : std::vector<Case>{
           {key.substr(1), good, "key of the wrong length"},
           {key, "", "wrong length"},
           {key, good.substr(0, 20), "wrong length"},
           {key, changed(0, 2), "unknown row format"},
           {key, changed(3, 1), "unused bytes are not zero"},
           {key, changed(4, 0), "a note with the number 0"},
           {key, changed(4, 2), "a note in the place of another"},
           {key, changed(19, '\x80'), "a note from before the epoch"},
           {key, changed(20, 6), "a note without a text"},
           {key, changed(20, 7), "is cut off"},
           {key, good + std::string(note_bytes_max, 'x'), "the note is too long"},
           {std::string(view(note_key(7, 1))), good, "a note in the place of another"},
           {std::string(8, '\0') + '\0', good, "job id is 0"}}) {
    const Result<NoteStored> found = decode_note(one.key, one.value);
    ASSERT_FALSE(found.ok()) << one.why;
    EXPECT_EQ(found.status().code(), StatusCode::Corruption);
    EXPECT_EQ(found.status().message().rfind("notes, key " + hex(one.key), 0), 0U);
    EXPECT_NE(found.status().message().find(one.why), std::string::npos)
        << found.status().message();
  }
}

TEST(Notes, AreKeptUpToThree) {
  EXPECT_TRUE(is_kept(1, 3));
  EXPECT_FALSE(is_kept(1, 4));
  EXPECT_TRUE(is_kept(2, 4));
  EXPECT_FALSE(is_kept(5, 4));
}

// -- In a batch.

JobMoved moved(JobId id, uint32_t notes) {
  return {.id = id, .before = JobState::Ready, .after = row_of(id, notes), .promised = true};
}

TEST(Notes, TheLastOneOfEachPlaceStaysInABatch) {
  Batch batch;
  batch.add(moved(1, 4));
  batch.add(note_of(1, 1, "first"));
  batch.add(note_of(1, 2));
  batch.add(note_of(1, 4, "a longer text"));
  batch.add(note_of(2, 1));
  ASSERT_EQ(batch.notes().size(), 3U);
  EXPECT_EQ(std::get<NoteStored>(batch.notes()[0]), note_of(1, 4, "a longer text"));
  EXPECT_EQ(batch.operations(), 3U + 3U);
  Batch same;
  same.add(moved(1, 4));
  same.add(note_of(1, 4, "a longer text"));
  same.add(note_of(1, 2));
  same.add(note_of(2, 1));
  EXPECT_EQ(batch.bytes(), same.bytes());
}

TEST(Notes, GoWithTheirJobInABatch) {
  Batch batch;
  batch.add(moved(1, 2));
  batch.add(note_of(1, 1));
  batch.add(note_of(5, 3));
  batch.add(note_of(1, 2));
  batch.add(note_of(6, 2));
  batch.add(JobMoved{.id = 1, .before = JobState::Ready, .after = {}, .promised = true});
  batch.add(NotesRemoved{.job = 1, .kept = 2});
  std::set<JobId> stored;
  size_t removed = 0;
  for (const NoteEffect& effect : batch.notes()) {
    if (const auto* one = std::get_if<NoteStored>(&effect)) stored.insert(one->job);
    removed += std::holds_alternative<NotesRemoved>(effect);
  }
  EXPECT_EQ(stored, (std::set<JobId>{5, 6}));
  EXPECT_EQ(removed, 1U);
  EXPECT_EQ(batch.operations(), 3U + 2U + 2U);
  // Those that changed their position are still found.
  batch.add(note_of(6, 5, "later"));
  EXPECT_EQ(batch.notes().size(), 3U);
  batch.clear();
  EXPECT_TRUE(batch.notes().empty());
  EXPECT_EQ(batch.bytes(), 0U);
  EXPECT_EQ(batch.operations(), 0U);
}

TEST(Notes, OfAJobThatWasPutAndDeletedInTheBatchLeaveNothing) {
  Batch batch;
  batch.add(JobMoved{.id = 1, .before = {}, .after = row_of(1, 0), .promised = true});
  batch.add(moved(1, 1));
  batch.add(note_of(1, 1));
  batch.add(JobMoved{.id = 1, .before = JobState::Ready, .after = {}, .promised = true});
  batch.add(NotesRemoved{.job = 1, .kept = 1});
  EXPECT_TRUE(batch.notes().empty());
  EXPECT_EQ(batch.operations(), 3U);
}

// -- In a store.

// A store with a tube. Its batches are numbered.
class NotesInStore : public testing::Test {
 protected:
  NotesInStore() {
    reopen();
    write({TubeStored{.tube = 1, .name = "mail"}});
  }

  void reopen() {
    store_.reset();
    Options options = {.data_dir = dir_.data_dir()};
    options.events.info = [this](std::string_view at, std::string_view fields) {
      if (at == "store.damaged_note") damaged_ += std::string(fields) + "\n";
    };
    auto opened = Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
  }
  void write(const std::vector<Transition>& transitions) {
    Batch batch;
    for (const Transition& transition : transitions) batch.add(transition);
    ++index_;
    batch.seal({.epoch = store_->opening().epoch, .index = index_, .known_durable = index_ - 1});
    ASSERT_TRUE(store_->write(batch, true).ok());
  }
  void put(JobId id) {
    write({NextIdRaised{.next_id = id + 1},
           JobMoved{.id = id, .before = {}, .after = row_of(id, 0), .promised = true}});
  }
  void add(JobId id, uint32_t number) {
    write({JobMoved{
               .id = id, .before = JobState::Ready, .after = row_of(id, number), .promised = true},
           note_of(id, number, fmt::format("note {}", number))});
  }
  void remove(JobId id, uint32_t had) {
    write({JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true},
           NotesRemoved{.job = id, .kept = notes_kept(had)}});
  }
  std::vector<uint32_t> numbers(JobId id, const Snapshot* snapshot = nullptr) const {
    const Result<std::vector<Note>> found = store_->read_notes(id, snapshot);
    EXPECT_TRUE(found.ok());
    std::vector<uint32_t> out;
    for (const Note& one : *found) {
      EXPECT_EQ(one, note(one.number, fmt::format("note {}", one.number)));
      out.push_back(one.number);
    }
    return out;
  }
  void check(const std::vector<std::string>& faults, bool starts) {
    store_.reset();
    std::vector<std::string> found;
    const auto summary = check_directory(
        {.path = dir_.data_dir(),
         .deep = true,
         .fault = [&](const Fault& fault) { found.push_back(fault.where + ": " + fault.what); },
         .is_tube_name = {},
         .progress = {},
         .events = {}});
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(found, faults);
    EXPECT_EQ(summary->starts, starts);
  }

  using Numbers = std::vector<uint32_t>;
  const TempDir dir_;
  std::unique_ptr<Store> store_;
  BatchIndex index_ = 0;
  std::string damaged_;  // What the events store.damaged_note say, by the thread that reads.
};

TEST_F(NotesInStore, AreTheLastThreeOldestFirst) {
  for (const JobId id : {1, 2, 3}) put(id);
  add(1, 1);
  add(3, 1);
  for (uint32_t number = 1; number <= 5; ++number) add(2, number);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(numbers(1), Numbers({1}));
    EXPECT_EQ(numbers(2), Numbers({3, 4, 5}));
    EXPECT_EQ(numbers(3), Numbers({1}));
    EXPECT_EQ(numbers(4), Numbers());
    if (round == 0) {
      ASSERT_TRUE(store_->flush().ok());
    } else {
      reopen();
    }
  }
  check({}, true);
}

TEST_F(NotesInStore, AreGoneWithTheirJobAndStayForASnapshot) {
  put(1);
  for (uint32_t number = 1; number <= 4; ++number) add(1, number);
  ASSERT_TRUE(store_->flush().ok());
  {
    const Snapshot before = store_->snapshot();
    add(1, 5);
    EXPECT_EQ(numbers(1, &before), Numbers({2, 3, 4}));
    EXPECT_EQ(numbers(1), Numbers({3, 4, 5}));
    remove(1, 5);
    EXPECT_EQ(numbers(1, &before), Numbers({2, 3, 4}));
    EXPECT_EQ(numbers(1), Numbers());
  }
  reopen();
  EXPECT_EQ(numbers(1), Numbers());
  std::atomic<bool> cancelled = false;
  ASSERT_TRUE(store_->flush().ok());
  ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
  EXPECT_EQ(numbers(1), Numbers());
  check({}, true);
}

// A start does not read them, and a damaged one does not hide the others.
TEST_F(NotesInStore, AreShownWithoutTheOneThatDoesNotDecode) {
  put(1);
  for (uint32_t number = 1; number <= 3; ++number) add(1, number);
  store_.reset();
  RawDb(dir_.data_dir()).put(Family::Notes, view(note_key(1, 0)), "no note");
  reopen();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(numbers(1), Numbers({2, 3}));
  EXPECT_EQ(damaged_, "job=1 problem=\"notes, key 000000000000000100: wrong length\"\n")
      << "it is said once";
  check({"notes: wrong length"}, true);
  const auto reader = Reader::open({.path = dir_.data_dir()});
  ASSERT_TRUE(reader.ok());
  Reader::Notes notes = (*reader)->notes();
  const Result<std::vector<Note>> found = notes.read(1, 3);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, (std::vector<Note>{note(2, "note 2"), note(3, "note 3")}));
  ASSERT_EQ(notes.problems().size(), 1U);
  EXPECT_EQ(notes.problems()[0].message(), "notes, key 000000000000000100: wrong length");
}

TEST_F(NotesInStore, ThatDoNotFitTheJobsAreFaultsWithWhichAServerStarts) {
  put(1);
  put(2);
  for (uint32_t number = 1; number <= 4; ++number) add(1, number);
  store_.reset();
  {
    RawDb db(dir_.data_dir());
    db.remove(Family::Notes, view(note_key(1, 2)));
    db.put(Family::Notes, view(note_key(1, 0)), encode(note(7)));
    db.put(Family::Notes, view(note_key(2, 1)), encode(note(2)));
    db.put(Family::Notes, view(note_key(9, 0)), encode(note(1)));
  }
  check({"ready: the job counts 4 notes, and note 3 is missing",
         "notes: it is note 7 of job 1, which counts 4",
         "notes: it is note 2 of job 2, which counts 0",
         "notes: it is about job 9, which is missing"},
        true);
  reopen();
}

TEST_F(NotesInStore, AreShownByAReader) {
  put(1);
  put(2);
  for (uint32_t number = 1; number <= 4; ++number) add(1, number);
  store_.reset();
  const auto reader = Reader::open({.path = dir_.data_dir()});
  ASSERT_TRUE(reader.ok());
  Reader::Notes notes = (*reader)->notes();
  const Result<std::vector<Note>> found = notes.read(1, 4);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, (std::vector<Note>{note(2, "note 2"), note(3, "note 3"), note(4, "note 4")}));
  EXPECT_TRUE(notes.read(2, 0)->empty());
}

// A salvage keeps the other notes of a job, and says how many are lost.
TEST_F(NotesInStore, ThatAreDamagedAreLeftOutByASalvage) {
  put(1);
  for (uint32_t number = 1; number <= 4; ++number) add(1, number);
  store_.reset();
  RawDb(dir_.data_dir()).put(Family::Notes, view(note_key(1, 2)), "no note");
  const auto reader = Reader::open({.path = dir_.data_dir(), .salvage = true});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->salvaged()->notes, 2U);
  EXPECT_EQ((*reader)->salvaged()->notes_lost, 1U);
  const Result<std::vector<Note>> found = (*reader)->notes().read(1, 4);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, (std::vector<Note>{note(2, "note 2"), note(4, "note 4")}));
}

TEST(NotesOffline, ABuilderTakesThoseThatTheJobCounts) {
  const TempDir dir;
  {
    auto builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    ASSERT_EQ(*(*builder)->tube("mail"), 1U);
    ASSERT_TRUE((*builder)->add_job(row_of(1, 4), "").ok());
    for (uint32_t number = 2; number <= 4; ++number) {
      ASSERT_TRUE((*builder)->add_note(1, note(number)).ok());
    }
    EXPECT_EQ((*builder)->add_note(1, note(1)).code(), StatusCode::InvalidArgument);
    EXPECT_EQ((*builder)->add_note(1, note(5)).code(), StatusCode::InvalidArgument);
    EXPECT_EQ((*builder)->add_note(1, note(2, "")).code(), StatusCode::InvalidArgument);
    const Status published = (*builder)->publish({.epoch = 1, .index = 1, .now = 1}, 2);
    ASSERT_TRUE(published.ok()) << published.message();
  }
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(*(*store)->read_notes(1), (std::vector<Note>{note(2), note(3), note(4)}));
}

}  // namespace
}  // namespace perennial::store
