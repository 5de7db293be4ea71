#include "engine/types/logfmt.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace perennial {
namespace {

TEST(Logfmt, TextIsOneValueOfOneLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"", R"("")"},
      {"plain", R"("plain")"},
      {"two words", R"("two words")"},
      {R"(say "hi" at=x)", R"("say \"hi\" at=x")"},
      {R"(back\slash)", R"("back\\slash")"},
      {"two\nlines\r\n", R"("two\nlines\x0d\n")"},
      {std::string("nul\0\x7f", 5), R"("nul\x00\x7f")"},
      {"\xc3\xa9", "\"\xc3\xa9\""},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(logfmt_text(text), wanted);
}

}  // namespace
}  // namespace perennial
