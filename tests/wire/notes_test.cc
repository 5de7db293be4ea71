// list-notes, as the server writes it and the client reads it: any bytes come through as text.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "wire/client.h"
#include "wire/job_line.h"
#include "wire/yaml_text.h"

namespace perennial::wire {
namespace {

struct TextCase {
  std::string_view text;
  std::string_view quoted;
  std::string_view read = {};  // What comes back, if it is not the text.
};
constexpr TextCase texts[] = {
    {"", R"("")"},
    {"exit 3", R"("exit 3")"},
    {"a \"b\" \\c", R"("a \"b\" \\c")"},
    {"one\ntwo\tthree\r", R"("one\ntwo\tthree\x0d")"},
    {std::string_view("\0\x1b\x7f", 3), R"("\x00\x1b\x7f")"},
    {"\xc3\xa9", "\"\xc3\xa9\""},                     // e with an acute accent
    {"\xc2\x85", R"("\x85")"},                        // next line
    {"\xe2\x80\xa8", R"("\u2028")"},                  // line separator
    {"\xef\xbb\xbf", R"("\ufeff")"},                  // byte order mark
    {"\xf0\x9f\x8c\xb1", "\"\xf0\x9f\x8c\xb1\""},     // a seedling
    {"a\xff", "\"a\xef\xbf\xbd\"", "a\xef\xbf\xbd"},  // no UTF-8
    {"\xc3", "\"\xef\xbf\xbd\"", "\xef\xbf\xbd"},     // cut off
};

TEST(YamlText, IsQuotedAndReadAgain) {
  for (const TextCase& one : texts) {
    EXPECT_EQ(yaml_text(one.text), one.quoted);
    EXPECT_EQ(read_yaml_text(one.quoted), one.read.empty() ? one.text : one.read);
  }
}

TEST(YamlText, ReadsNothingThatItDoesNotWrite) {
  for (const char* const bad :
       {"", "\"", "x", "\"x", "x\"", R"("\")", R"("\q")", R"("\x1")", R"("\u123")"})
    EXPECT_EQ(read_yaml_text(bad), std::nullopt) << bad;
}

// 2026-11-27T03:05:40.127Z
constexpr Nanos some_time = 1'795'748'740'127'999'999;

TEST(Notes, AreReadAsTheyWereWritten) {
  NoteList list;
  list.notes.push_back({.number = 4, .attempt = 7, .time = some_time, .user = "u", .text = "a\nb"});
  list.notes.push_back({.number = 5, .attempt = 8, .time = 0, .user = "", .text = "- number: 6"});
  const std::string yaml = notes_yaml(list);
  EXPECT_EQ(yaml,
            "---\n"
            "- number: 4\n  time: \"2026-11-27T03:05:40.127Z\"\n  attempt: 7\n  user: \"u\"\n"
            "  text: \"a\\nb\"\n"
            "- number: 5\n  time: \"1970-01-01T00:00:00.000Z\"\n  attempt: 8\n  user: \"\"\n"
            "  text: \"- number: 6\"\n");
  const std::optional<std::vector<ToldNote>> notes = parse_notes(yaml);
  ASSERT_TRUE(notes && notes->size() == 2);
  EXPECT_EQ(notes->front().number, 4u);
  EXPECT_EQ(notes->front().attempt, 7u);
  EXPECT_EQ(notes->front().time, "2026-11-27T03:05:40.127Z");
  EXPECT_EQ(notes->front().user, "u");
  EXPECT_EQ(notes->front().text, "a\nb");
  EXPECT_EQ(notes->back().text, "- number: 6");
}

TEST(Notes, MayBeNone) {
  EXPECT_EQ(notes_yaml({}), "--- []\n");
  const std::optional<std::vector<ToldNote>> notes = parse_notes("--- []\n");
  EXPECT_TRUE(notes && notes->empty());
}

TEST(Notes, OfALaterServerMaySayMore) {
  const auto notes = parse_notes("---\n- number: 1\n  colour: red\n  text: \"x\"\n");
  ASSERT_TRUE(notes && notes->size() == 1);
  EXPECT_EQ(notes->front().text, "x");
}

TEST(Notes, ThatAreNoneAreRefused) {
  for (const char* const bad : {"", "---\n  number: 1\n", "---\n- number: x\n", "---\n- number\n",
                                "---\n- text: x\n", "- number: 1\n"})
    EXPECT_FALSE(parse_notes(bad)) << bad;
}

}  // namespace
}  // namespace perennial::wire
