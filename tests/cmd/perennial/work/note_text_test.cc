// The note at a job whose command has failed: its text, and the end of what the command has
// written.

#include "cmd/perennial/work/note_text.h"

#include <string>

#include <gtest/gtest.h>

#include "cmd/perennial/work/standard_error/tail.h"
#include "engine/types/note.h"

namespace perennial::tool::work {
namespace {

using std::chrono::seconds;

TEST(NoteText, SaysFirstWhatHasHappened) {
  EXPECT_EQ(note_text({.status = 3}, {}), "exit 3");
  EXPECT_EQ(note_text({.status = 3, .last_errors = "no such letter"}, {}),
            "exit 3\nno such letter");
  EXPECT_EQ(note_text({.signal = 9}, {}), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(note_text({.signal = 11}, {}), "killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(note_text({.signal = 50}, {}), "killed by signal 50");
  EXPECT_EQ(note_text({.cause = Cause::TimedOut, .signal = 15, .last_errors = "a\nb"}, seconds(90)),
            "killed after 1m30s: --timeout\na\nb");
  EXPECT_EQ(note_text({.cause = Cause::TimedOut}, seconds(30)), "killed after 30s: --timeout");
  for (const Cause cause : {Cause::NotStarted, Cause::NoProgram}) {
    EXPECT_EQ(note_text({.cause = cause, .status = 127, .error = "start ./a\nb: No such file"}, {}),
              "not started: start ./a\\nb: No such file");
  }
}

TEST(NoteText, IsThereForFailuresOnly) {
  EXPECT_TRUE(is_failure({.status = 1}));
  EXPECT_TRUE(is_failure({.signal = 15}));
  EXPECT_TRUE(is_failure({.cause = Cause::TimedOut}));
  EXPECT_TRUE(is_failure({.cause = Cause::NotStarted}));
  EXPECT_TRUE(is_failure({.cause = Cause::NoProgram}));
  EXPECT_FALSE(is_failure({}));
  EXPECT_FALSE(is_failure({.cause = Cause::Stopped, .signal = 15}));
  EXPECT_FALSE(is_failure({.cause = Cause::Lost, .signal = 15}));
}

TEST(NoteText, FitsIntoANoteWhateverItSays) {
  const std::string path(4095, '/');
  const std::string errors(Tail::bytes_max, 'x');
  const std::string text =
      note_text({.cause = Cause::NotStarted, .error = path, .last_errors = errors}, {});
  EXPECT_EQ(text.size(), note_bytes_max);
  EXPECT_TRUE(text.ends_with("/\n" + errors));
  std::string umlauts;
  while (umlauts.size() < 4000) umlauts += "\xc3\xa4";
  const std::string whole = note_text({.cause = Cause::NotStarted, .error = umlauts}, {});
  EXPECT_EQ(whole, without_partial_end(whole));
}

std::string tail_of(std::string_view text, size_t piece_bytes) {
  Tail tail;
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), piece_bytes)))
    tail.add(text.substr(0, piece_bytes));
  return tail.text();
}

TEST(Tail, IsTheSameForAnyPieces) {
  std::string text;
  for (int line = 0; text.size() < 10'000; ++line) text += "line " + std::to_string(line) + "\n";
  std::string last = text.substr(text.size() - Tail::bytes_max);
  last = last.substr(last.find('\n') + 1);
  last.pop_back();
  for (const size_t piece : {1, 7, 2047, 2048, 2049, 2050, 5000, 20'000})
    EXPECT_EQ(tail_of(text, piece), last) << piece;
}

TEST(Tail, OfAShortTextIsTheText) {
  EXPECT_EQ(tail_of("", 9), "");
  EXPECT_EQ(tail_of("\n\n", 9), "");
  EXPECT_EQ(tail_of("\xa4 one\ntwo\r\n\n", 9), "\xa4 one\ntwo");
  const std::string longest = "first\n" + std::string(Tail::bytes_max - 6, 'x');
  EXPECT_EQ(tail_of(longest, 100), longest);
  // One byte more, and the first line is not whole.
  EXPECT_EQ(tail_of("a" + longest, 100), longest.substr(6));
  // A line begins exactly there.
  EXPECT_EQ(tail_of("\n" + longest, 100), longest);
}

TEST(Tail, KeepsTheEndOfALongLineBeforeAShortOne) {
  const std::string text = std::string(5'000, 'q') + "\nL\n";
  EXPECT_EQ(tail_of(text, 999), std::string(Tail::bytes_max - 3, 'q') + "\nL");
}

TEST(Tail, HasWholeCharacters) {
  // Of two, three and four bytes.
  for (const std::string character : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    std::string text;
    while (text.size() < 5000) text += character;
    for (size_t lead = 0; lead < character.size(); ++lead) {
      const std::string last = tail_of(text + std::string(lead, 'x'), 999);
      EXPECT_LE(last.size(), Tail::bytes_max);
      EXPECT_GT(last.size() + character.size(), Tail::bytes_max);
      EXPECT_TRUE(last.starts_with(character)) << lead;
    }
    for (size_t cut = 1; cut < character.size(); ++cut)
      EXPECT_EQ(tail_of("a" + character + character.substr(0, cut), 999), "a" + character) << cut;
  }
  // Bytes that are no UTF-8 stay.
  EXPECT_EQ(tail_of("a\xff", 9), "a\xff");
  EXPECT_EQ(tail_of("\x80\x80\x80\x80", 9), "\x80\x80\x80\x80");
}

}  // namespace
}  // namespace perennial::tool::work
