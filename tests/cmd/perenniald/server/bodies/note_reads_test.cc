#include "cmd/perenniald/server/bodies/note_reads.h"

#include <array>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "tests/store/temp_dir.h"

namespace perennial::perenniald {
namespace {

using store::Batch;
using Results = std::map<uint64_t, std::string>;

class NoteReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(uv_loop_init(&loop_), 0);
    store::Options options;
    options.data_dir = dir_.data_dir();
    Result<std::unique_ptr<store::Store>> opened = store::Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
    Batch batch;
    batch.add(TubeStored{.tube = 0, .name = "default"});
    for (const JobId id : {1, 2}) {
      JobRow row = row_of(id, 2);
      batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, "x");
      for (uint32_t number = 1; number <= 2; ++number) batch.add(note_of(id, number));
    }
    write(batch);
  }

  void TearDown() override { EXPECT_EQ(uv_loop_close(&loop_), 0); }

  static JobRow row_of(JobId id, uint32_t had) {
    JobRow row = {.id = id, .ttr_s = 1, .body_bytes = 1};
    row.fields.make().notes = had;
    return row;
  }
  static NoteStored note_of(JobId id, uint32_t number) {
    return {.job = id, .note = {.number = number, .text = std::to_string(number)}};
  }
  static Batch further(JobId id, uint32_t number) {
    Batch batch;
    batch.add(JobMoved{
        .id = id, .before = JobState::Ready, .after = row_of(id, number), .promised = true});
    batch.add(note_of(id, number));
    return batch;
  }
  static Batch deletion_of(JobId id, uint32_t had) {
    Batch batch;
    batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
    batch.add(NotesRemoved{.job = id, .kept = notes_kept(had)});
    return batch;
  }

  void start(JobId job) { reads_.start(*store_, {.ticket = ++last_ticket_, .job = job}); }

  void write(Batch& batch) {
    ++last_index_;
    batch.seal({.epoch = store_->opening().epoch,
                .index = last_index_,
                .known_durable = last_index_ - 1,
                .now = 5});
    ASSERT_TRUE(store_->write(batch, true).ok());
  }
  void announce_and_write(Batch batch) {
    reads_.before_write(batch);
    write(batch);
  }

  // From here to let_pool_work() no read begins on the pool.
  void block_pool() {
    for (uv_work_t& request : blockers_) {
      request.data = &gate_;
      const auto wait = [](uv_work_t* blocked) {
        static_cast<std::shared_future<void>*>(blocked->data)->wait();
      };
      ASSERT_EQ(uv_queue_work(&loop_, &request, wait, nullptr), 0);
    }
  }
  void let_pool_work() {
    opener_.set_value();
    ASSERT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_FALSE(reads_.busy());
  }

  const store::TempDir dir_;
  std::unique_ptr<store::Store> store_;
  BatchIndex last_index_ = 0;
  uint64_t last_ticket_ = 0;
  uv_loop_t loop_;
  std::promise<void> opener_;
  std::shared_future<void> gate_ = opener_.get_future().share();
  std::array<uv_work_t, 4> blockers_;  // As many as libuv's pool has threads.
  Results results_;                    // The texts of the notes, by ticket.
  NoteReads reads_{loop_,
                   [this](const core::NoteRead& read, const Result<std::vector<Note>>& notes) {
                     EXPECT_FALSE(results_.contains(read.ticket));
                     std::string& texts = results_[read.ticket];
                     if (!notes.ok()) texts = notes.status().message();
                     if (!notes.ok()) return;
                     for (const Note& note : *notes) texts += note.text;
                   },
                   [](const Status& failed) { FAIL() << failed.message(); }, 2};
};

TEST_F(NoteReadsTest, ReturnTheNotesOfAJob) {
  for (const JobId id : {1, 2, 3}) start(id);
  EXPECT_TRUE(reads_.busy());
  let_pool_work();
  EXPECT_EQ(results_, (Results{{1, "12"}, {2, "12"}, {3, ""}}));
}

// More of them than may be under way at once. Each shows its job as it was when it was started.
TEST_F(NoteReadsTest, AreNotChangedByLaterBatches) {
  block_pool();
  for (const JobId id : {1, 2, 1, 2}) start(id);
  announce_and_write(further(1, 3));
  for (const JobId id : {1, 2}) start(id);
  announce_and_write(further(1, 4));
  for (const JobId id : {1, 2}) start(id);
  announce_and_write(deletion_of(1, 4));
  announce_and_write(deletion_of(2, 2));
  for (const JobId id : {1, 2}) start(id);
  let_pool_work();
  EXPECT_EQ(results_, (Results{{1, "12"},
                               {2, "12"},
                               {3, "12"},
                               {4, "12"},
                               {5, "123"},
                               {6, "12"},
                               {7, "234"},
                               {8, "12"},
                               {9, ""},
                               {10, ""}}));
}

// Shows that the test above would fail if before_write() were not called.
TEST_F(NoteReadsTest, WithoutBeforeWriteALaterNoteIsShown) {
  block_pool();
  start(1);
  Batch batch = further(1, 3);
  write(batch);
  let_pool_work();
  EXPECT_EQ(results_, (Results{{1, "123"}}));
}

}  // namespace
}  // namespace perennial::perenniald
