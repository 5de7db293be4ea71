#include "cmd/perennial/jobs/notes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

TEST(NoteLine, IsItsFirstAndItsLastLine) {
  EXPECT_EQ(note_line(""), "");
  EXPECT_EQ(note_line("asked them"), "asked them");
  EXPECT_EQ(note_line("asked them\n"), "asked them");
  EXPECT_EQ(note_line("exit 7\nTraceback:\n  in send\nno such host\n\n"), "exit 7: no such host");
  EXPECT_EQ(note_line("exit 7\n\x1b[31mred\x07"), "exit 7: \\x1b[31mred\\x07");
  EXPECT_EQ(note_line("\n"), "");
}

TEST(NoteLine, IsCutBehindItsLongestLength) {
  const std::string longest(note_line_columns_max, 'x');
  EXPECT_EQ(note_line(longest), longest);
  EXPECT_EQ(note_line(longest + "y"), longest.substr(1) + "~");
  EXPECT_EQ(note_line("exit 7\n" + longest), "exit 7: " + longest.substr(9) + "~");
  // Characters count, and none is cut in two.
  std::string accents;
  for (size_t i = 0; i < note_line_columns_max; ++i) accents += "\xc3\xa9";
  EXPECT_EQ(note_line(accents), accents);
  EXPECT_EQ(note_line(accents + "x"), accents.substr(2) + "~");
}

TEST(NotesText, HasTheTextOfEachBelowItsLine) {
  const std::vector<wire::ToldNote> notes = {
      {.number = 4, .attempt = 2, .time = "2026-11-27T03:05:40.127Z", .text = "exit 7\nno host\n"},
      {.number = 5,
       .attempt = 3,
       .time = "2026-11-27T03:06:40.127Z",
       .user = "ann",
       .text = "asked"}};
  EXPECT_EQ(notes_text(notes),
            "note 4, 2026-11-27T03:05:40.127Z, attempt 2\nexit 7\nno host\n"
            "note 5, 2026-11-27T03:06:40.127Z, attempt 3, by ann\nasked\n");
}

TEST(NotesText, NamesThoseThatAreMissing) {
  const std::vector<wire::ToldNote> notes = {{.number = 4, .attempt = 2, .time = "T", .text = "x"}};
  using Numbers = std::vector<uint32_t>;
  EXPECT_EQ(missing_notes(notes, 5), (Numbers{3, 5}));
  EXPECT_EQ(missing_notes(notes, 4), (Numbers{2, 3}));
  EXPECT_EQ(missing_notes(notes, 3), (Numbers{2, 3})) << "the fourth was written meanwhile";
  EXPECT_EQ(missing_notes({}, 2), (Numbers{1, 2}));
  EXPECT_EQ(missing_notes({}, 0), Numbers());
  EXPECT_EQ(notes_text(notes, {3, 5}),
            "note 3: missing (damaged on disk)\nnote 4, T, attempt 2\nx\n"
            "note 5: missing (damaged on disk)\n");
  EXPECT_EQ(notes_text({}, {1}), "note 1: missing (damaged on disk)\n");
  EXPECT_EQ(notes_text({}), "");
}

}  // namespace
}  // namespace perennial::tool
