// list-notes shows the notes as they were when it was run, whatever the disk has by then.

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cmd/perenniald/core/note_waits.h"
#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

using Numbers = std::vector<uint32_t>;

std::vector<Note> notes_of(const Numbers& numbers) {
  std::vector<Note> notes;
  for (const uint32_t number : numbers) notes.push_back({.number = number});
  return notes;
}

Numbers numbers_of(const std::vector<Note>& notes) {
  Numbers numbers;
  for (const Note& note : notes) numbers.push_back(note.number);
  return numbers;
}

Numbers merged(const Numbers& read, const Numbers& unwritten, uint32_t had) {
  return numbers_of(merge_notes(notes_of(read), notes_of(unwritten), had));
}

TEST(MergeNotes, TakesWhatWasReadBeforeAndAfterTheWrite) {
  EXPECT_EQ(merged({}, {1}, 1), (Numbers{1}));
  EXPECT_EQ(merged({1}, {1}, 1), (Numbers{1}));
  EXPECT_EQ(merged({1, 2, 3}, {4}, 4), (Numbers{2, 3, 4}));
  EXPECT_EQ(merged({2, 3, 4}, {4}, 4), (Numbers{2, 3, 4}));
  EXPECT_EQ(merged({1, 2, 3}, {4, 5}, 5), (Numbers{3, 4, 5}));
  EXPECT_EQ(merged({3, 4, 5}, {4, 5, 6}, 6), (Numbers{4, 5, 6}));
}

// A repair has left out notes of the job. Others do not take their place.
TEST(MergeNotes, ShowsNoNoteThatTheJobDoesNotKeep) {
  EXPECT_EQ(merged({1, 3}, {4}, 4), (Numbers{3, 4}));
  EXPECT_EQ(merged({1}, {4, 5}, 5), (Numbers{4, 5}));
  EXPECT_EQ(merged({1}, {}, 4), (Numbers{}));
}

NoteStored stored(JobId job, uint32_t number) {
  return {.job = job, .note = {.number = number}};
}

Numbers unwritten_of(NoteWaits& waits, JobId job) {
  waits.add({}, job);
  const std::vector<NoteRead> reads = waits.take_reads();
  EXPECT_EQ(reads.size(), 1u);
  return numbers_of(waits.end(reads.front().ticket).unwritten);
}

TEST(NoteWaits, KnowTheLastNotesThatAreNotWritten) {
  NoteWaits waits;
  for (const uint32_t number : {1, 2, 3, 4}) waits.on_stored(stored(7, number), 2);
  waits.on_stored(stored(8, 1), 2);
  waits.on_stored(stored(7, 5), 3);
  EXPECT_EQ(unwritten_of(waits, 7), (Numbers{3, 4, 5}));
  EXPECT_EQ(unwritten_of(waits, 8), (Numbers{1}));
  waits.on_written(2);
  EXPECT_EQ(unwritten_of(waits, 7), (Numbers{5}));
  EXPECT_EQ(unwritten_of(waits, 8), (Numbers{}));
  waits.on_written(3);
  EXPECT_EQ(unwritten_of(waits, 7), (Numbers{}));
}

TEST(NoteWaits, GiveOutAllReadsOfATurn) {
  NoteWaits waits;
  for (JobId job = 1; job <= 1000; ++job) waits.add({.slot = job}, job);
  EXPECT_TRUE(waits.has_wanted());
  const std::vector<NoteRead> reads = waits.take_reads();
  EXPECT_FALSE(waits.has_wanted());
  ASSERT_EQ(reads.size(), 1000u);
  for (const NoteRead& read : reads) EXPECT_EQ(waits.end(read.ticket).slot, read.job);
}

// Returns the texts of the notes in answers, "-" for an answer without notes, in the order of
// answers.
std::string texts_of(std::string_view answers) {
  std::string out;
  while (!answers.empty()) {
    const std::string_view line = answers.substr(0, answers.find('\n'));
    answers.remove_prefix(line.size() + 1);
    constexpr std::string_view text = "  text: \"";
    if (line.starts_with("OK ")) out += out.empty() ? "" : "|";
    if (line.starts_with("--- []")) out += "-";
    if (line.starts_with(text)) out += line.substr(text.size(), 1);
    if (line.starts_with("NOT_FOUND")) out += "|NOT_FOUND";
  }
  return out;
}

std::string note(std::string_view text) {
  return "note 1 1\r\n" + std::string(text) + "\r\n";
}

class PipelineOfNotes : public testing::Test {
 protected:
  void SetUp() override {
    harness_.send(conn_, "put 0 0 60 1\r\nx\r\n");
    harness_.receive(conn_);
  }
  // Sends commands in one piece, with `written` notes on disk, and returns the notes in the
  // answers.
  std::string ask(int written, const std::string& commands) {
    for (int number = 1; number <= written; ++number)
      harness_.send(conn_, note(std::to_string(number)));
    harness_.receive(conn_);
    harness_.send(conn_, commands);
    return texts_of(harness_.receive(conn_));
  }

  CoreHarness harness_;
  ConnId conn_ = harness_.open();
};

const std::string list_notes = "list-notes 1\r\n";
const std::string delete_job = "delete 1\r\n";

TEST_F(PipelineOfNotes, ShowsWhatWasTrueThen) {
  EXPECT_EQ(ask(1, list_notes + note("2") + list_notes + delete_job + list_notes),
            "1|12|NOT_FOUND");
}

TEST_F(PipelineOfNotes, ShowsNotesOfWhichNoneIsOnDisk) {
  EXPECT_EQ(ask(0, list_notes + note("1") + list_notes + note("2") + list_notes + delete_job),
            "-|1|12");
}

TEST_F(PipelineOfNotes, ShowsTheLastThreeOfThen) {
  EXPECT_EQ(ask(3, list_notes + note("4") + list_notes + note("5") + note("6") + note("7") +
                       list_notes + delete_job),
            "123|234|567");
}

// The batch with the note is under way when the next one asks.
TEST_F(PipelineOfNotes, ShowsNotesOfABatchThatIsUnderWay) {
  harness_.send(conn_, note("1"));
  harness_.set_committing(false);
  const ConnId other = harness_.open();
  harness_.send(other, note("2"));
  harness_.send(other, list_notes + note("3") + list_notes);
  EXPECT_EQ(harness_.receive(other), "");
  harness_.set_committing(true);
  harness_.pump();
  EXPECT_EQ(texts_of(harness_.receive(other)), "12|123");
}

}  // namespace
}  // namespace perennial::core
