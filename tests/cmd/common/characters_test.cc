#include "cmd/common/characters.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

TEST(Characters, OnlyWhatAReaderSeesIsPrintable) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"plain ~", "plain ~"},
      {"two\nlines\tand a tab", "two\nlines\tand a tab"},
      {"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x8c\xb1", "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x8c\xb1"},
      {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
      {"\xc2\x9b", "\\xc2\\x9b"},
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
      {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},
      {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},
      {"\xff", "\\xff"},
      {"\xc3", "\\xc3"},
      {"\xc3(", "\\xc3("},
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(printable(text), wanted);
}

}  // namespace
}  // namespace perennial::common
