#include "cmd/perennial/jobs/notes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

std::string line_of(std::string text) {
  return newest_line(
      {{.number = 1, .text = "an older one"}, {.number = 2, .text = std::move(text)}});
}

TEST(NewestNote, IsItsFirstAndItsLastLine) {
  EXPECT_EQ(newest_line({}), "");
  EXPECT_EQ(line_of("asked them"), "asked them");
  EXPECT_EQ(line_of("asked them\n"), "asked them");
  EXPECT_EQ(line_of("exit 7\nTraceback:\n  in send\nno such host\n\n"), "exit 7: no such host");
  EXPECT_EQ(line_of("exit 7\n\x1b[31mred\x07"), "exit 7: \\x1b[31mred\\x07");
  EXPECT_EQ(line_of("\n"), "");
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

}  // namespace
}  // namespace perennial::tool
