// Notes of jobs: what the engine counts, and what it gives to the store. The texts are the store's.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

constexpr Nanos start = 1'700'000'000 * nanos_per_second;
constexpr ConnId client = 1;

class Notes : public testing::Test {
 protected:
  Notes() { apply(Opened{}); }
  void apply(Event event) {
    output_.clear();
    engine_.apply(
        {.now = now_, .conn = client, .accepts_puts = accepts_, .event = std::move(event)},
        output_);
    engine_.check();
  }
  Word word_of(Command command) {
    apply(std::move(command));
    const auto* const word = std::get_if<Word>(&output_.replies.front().reply);
    return word != nullptr ? *word : Word::Found;
  }
  Word note(JobId id, std::string text = "why") {
    return word_of(NoteJob{.id = id,
                           .bytes = static_cast<uint32_t>(text.size()),
                           .text = std::move(text),
                           .user = "mailer"});
  }
  template <typename T>
  std::vector<T> transitions() const {
    std::vector<T> found;
    for (const Transition& transition : output_.transitions)
      if (const auto* const one = std::get_if<T>(&transition)) found.push_back(*one);
    return found;
  }
  uint32_t count_of(JobId id) {
    apply(Command{ListNotes{id}});
    return std::get<NotesOf>(output_.replies.front().reply).had;
  }
  void put() { apply(Command{Put{0, 0, 60, 1}}); }

  Engine engine_{Limits{}};
  Output output_;
  Nanos now_ = start;
  bool accepts_ = true;
};

TEST_F(Notes, AreNumberedAndPromisedWithTheJob) {
  put();
  apply(Command{Reserve{}});
  now_ += nanos_per_second;
  EXPECT_EQ(note(1, "exit 3"), Word::Noted);
  const auto moved = transitions<JobMoved>();
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_TRUE(moved[0].promised);
  EXPECT_EQ(moved[0].before, JobState::Reserved);
  EXPECT_EQ(moved[0].after->state, JobState::Reserved);
  EXPECT_EQ(moved[0].after->fields->notes, 1u);
  const auto stored = transitions<NoteStored>();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0], (NoteStored{1, {1, 1, now_, "mailer", "exit 3"}}));
  // The reservation goes on.
  EXPECT_EQ(word_of(Delete{1}), Word::Deleted);
}

TEST_F(Notes, MayBeWrittenInEveryState) {
  put();
  EXPECT_EQ(note(1), Word::Noted);  // Ready.
  apply(Command{Reserve{}});
  EXPECT_EQ(note(1), Word::Noted);
  apply(Command{Bury{1, PriorityOrKeep(0)}});
  EXPECT_EQ(note(1), Word::Noted);
  apply(Command{Put{0, 10, 60, 1}});
  EXPECT_EQ(note(2), Word::Noted);
  EXPECT_EQ(count_of(1), 3u);
  EXPECT_EQ(count_of(2), 1u);
  // The delay and the place among the buried ones are as they were.
  now_ += 10 * nanos_per_second;
  apply(Tick{});
  EXPECT_EQ(engine_.view().job_statistics(2)->state, JobState::Ready);
  EXPECT_EQ(word_of(KickJob{1}), Word::Kicked);
}

TEST_F(Notes, GoWithTheJobAndNoFurther) {
  put();
  for (int i = 0; i < 5; ++i) note(1);
  apply(Command{SetJob{.id = 1, .tube = "other"}});
  EXPECT_EQ(count_of(1), 5u);
  apply(Command{Delete{1}});
  const auto removed = transitions<NotesRemoved>();
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed[0], (NotesRemoved{1, notes_max}));
  put();
  apply(Command{Delete{2}});
  EXPECT_TRUE(transitions<NotesRemoved>().empty());
}

TEST_F(Notes, GoWithTheJobThatDies) {
  Put put{0, 0, 60, 1};
  put.options.make().tries = TriesOption{1};
  put.options.make().dead = "default-dead";
  apply(Command{std::move(put)});
  apply(Command{Reserve{}});
  note(1);
  apply(Command{Release{1, 0, 0}});
  EXPECT_EQ(engine_.view().job_statistics(1)->tube, "default-dead");
  EXPECT_EQ(count_of(1), 1u);
  note(1);
  EXPECT_EQ(count_of(1), 2u);
}

TEST_F(Notes, OfJobsThatAreFlushedOrExpireGo) {
  put();
  note(1);
  apply(Command{FlushTube{.tube = "default"}});
  EXPECT_EQ(transitions<NotesRemoved>().size(), 1u);
  Put put{0, 0, 60, 1};
  put.options.make().expire.nanos = nanos_per_second;
  apply(Command{std::move(put)});
  note(2);
  now_ += 2 * nanos_per_second;
  apply(Tick{});
  EXPECT_EQ(transitions<NotesRemoved>(), std::vector{NotesRemoved({2, 1})});
}

TEST_F(Notes, AreRefused) {
  EXPECT_EQ(note(1), Word::NotFound);
  EXPECT_EQ(word_of(ListNotes{1}), Word::NotFound);
  put();
  EXPECT_EQ(note(1, ""), Word::OutOfMemory);  // There was no memory for its text.
  apply(DrainSignal{});
  EXPECT_EQ(note(1), Word::Noted);
  accepts_ = false;
  EXPECT_EQ(note(1), Word::OutOfMemory);
  EXPECT_EQ(count_of(1), 1u);
  EXPECT_EQ(word_of(NoteRefused{NoteRefused::Why::TooBig}), Word::JobTooBig);
  EXPECT_EQ(word_of(NoteRefused{NoteRefused::Why::BadFormat}), Word::BadFormat);
  EXPECT_EQ(word_of(NoteRefused{NoteRefused::Why::ExpectedCrlf}), Word::ExpectedCrlf);
}

TEST_F(Notes, NameALongUserInPart) {
  put();
  apply(Command{NoteJob{.id = 1, .bytes = 1, .text = "x", .user = std::string(300, 'u')}});
  EXPECT_EQ(transitions<NoteStored>().at(0).note.user, std::string(note_user_bytes_max, 'u'));
}

}  // namespace
}  // namespace perennial::engine
