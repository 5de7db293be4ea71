#include "tests/support/reply_text.h"

#include <gtest/gtest.h>

namespace perennial::support {
namespace {

constexpr std::string_view stats = "OK 60\r\n---\nid: 5\nname: \"a b\"\nttl: \nage: -1\nlast: 7";

TEST(ReplyText, HasTheValueOfAKey) {
  EXPECT_EQ(yaml_value(stats, "id"), "5");
  EXPECT_EQ(yaml_value(stats, "name"), "a b");
  EXPECT_EQ(yaml_value(stats, "ttl"), "");
  EXPECT_EQ(yaml_value(stats, "last"), "7");
  EXPECT_EQ(yaml_value(stats, "d"), "") << "the end of another key";
  EXPECT_EQ(yaml_value("", "id"), "");
}

TEST(ReplyText, HasNumbersOrWhatStandsForNone) {
  EXPECT_EQ(yaml_number(stats, "id"), 5U);
  EXPECT_EQ(yaml_number(stats, "last", 0), 7U);
  EXPECT_EQ(yaml_number(stats, "gone"), ~uint64_t{0});
  EXPECT_EQ(yaml_number(stats, "gone", 0), 0U);
  EXPECT_EQ(yaml_number(stats, "name", 3), 3U);
  EXPECT_EQ(yaml_number(stats, "age", 3), 3U) << "it is below zero";
}

TEST(ReplyText, HasTheNumberBehindTheWord) {
  EXPECT_EQ(first_number("INSERTED 12\r\n"), 12U);
  EXPECT_EQ(first_number("RESERVED 12 3\r\nabc\r\n"), 12U);
  EXPECT_EQ(first_number("DELETED\r\n"), 0U);
}

TEST(ReplyText, HasTheBody) {
  EXPECT_EQ(body_in("FOUND 1 4\r\na\r\nb\r\n"), "a\r\nb");
  EXPECT_EQ(body_in("RESERVED 1 0\r\n\r\n"), "");
}

}  // namespace
}  // namespace perennial::support
