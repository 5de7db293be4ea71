#include "cmd/common/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::common {
namespace {

using Items = std::vector<std::string_view>;

TEST(List, HasOneItemMoreThanSeparators) {
  struct Case {
    std::string_view text;
    Items want;
  };
  const Case cases[] = {
      {"", {}},
      {" \t", {}},
      {"a", {"a"}},
      {"a,b", {"a", "b"}},
      {" a ,\tb\t", {"a", "b"}},
      {"a b", {"a b"}},
      {",", {"", ""}},
      {"a,", {"a", ""}},
      {",a", {"", "a"}},
      {"a,,b", {"a", "", "b"}},
      {"a, ,b", {"a", "", "b"}},
      {"a;b", {"a;b"}},
  };
  for (const Case& c : cases) EXPECT_EQ(list_items(c.text), c.want) << c.text;
}

TEST(List, MayHaveAnotherSeparator) {
  EXPECT_EQ(list_items("a=1; b=2,3", ';'), (Items{"a=1", "b=2,3"}));
}

TEST(List, ItemsArePartsOfTheText) {
  const std::string_view text = "a, b";
  EXPECT_EQ(list_items(text).back().data(), text.data() + 3);
}

TEST(List, TrimmedTakesNothingFromTheMiddle) {
  EXPECT_EQ(trimmed("  a\t b \t"), "a\t b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace perennial::common
