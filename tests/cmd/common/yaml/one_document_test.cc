#include "cmd/common/yaml/one_document.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

TEST(OneDocument, IsOneThatThereMayBeNothingBeside) {
  for (const std::string text :
       {"", "# nothing", "---", "a", "a: 1", "---\na: 1\n...\n# end", "[a, b]\n", "? a", ": a",
        "%YAML 1.2\n---\na: 1", "a: &x [1]\nb: *x", "|\n  text\n", "a: ','"}) {
    const auto wrong = not_one_document(text);
    EXPECT_FALSE(wrong) << text << ": " << wrong->line << ": " << wrong->what;
  }
}

TEST(OneDocument, HasNothingBehindIt) {
  const struct {
    const char* text;
    int line;
    const char* what;
  } cases[] = {
      {"a: 1\n---\nb: 1", 3, "a second document begins here"},
      {"---\n---\na: 1", 3, "a second document begins here"},
      {"---\n---\n---\n", 3, "a second document begins here"},
      {"a\n---\n", 3, "a second document begins here"},
      {"a\n---\n,", 3, "a second document begins here"},
      {"- a\nb: 1", 2, "a second document begins here"},
      // LoadAll() makes empty documents of these until there is no memory left.
      {",", 1, "what stands here belongs to no value"},
      {"# first\n, a", 2, "what stands here belongs to no value"},
      {"[a]\n, b", 2, "what stands here belongs to no value"},
      // No YAML.
      {"a: b: c", 1, "illegal map value"},
      {"a: 1\n, b", 2, "end of map not found"},
      {"[a] ]", 1, "illegal flow end"},
      {"a: *b", 1, "the referenced anchor is not defined"},
      {"a: 1\n---\n[", 3, "end of sequence flow not found"},
  };
  for (const auto& c : cases) {
    const auto wrong = not_one_document(c.text);
    ASSERT_TRUE(wrong) << c.text;
    EXPECT_EQ(wrong->line, c.line) << c.text;
    EXPECT_EQ(wrong->what, c.what) << c.text;
  }
}

}  // namespace
}  // namespace perennial::common
