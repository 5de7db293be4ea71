#include "cmd/perenniald/core/backlog.h"

#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace perennial::core {
namespace {

class BacklogTest : public testing::Test {
 protected:
  void keep(std::string_view bytes) { backlog_.keep(std::span(bytes.data(), bytes.size())); }
  // Parses this many bytes.
  std::string parse(size_t count) {
    Backlog::Taken taken = backlog_.take();
    const std::string parsed(std::string_view(taken.bytes).substr(taken.at, count));
    taken.at += count;
    backlog_.put_back(std::move(taken));
    return parsed;
  }

  MemoryBudget budget_{{}};
  Backlog backlog_{budget_};
};

TEST_F(BacklogTest, ReturnsTheBytesInTheirOrder) {
  EXPECT_TRUE(backlog_.empty());
  keep("abc");
  keep("defg");
  EXPECT_EQ(backlog_.size(), 7U);
  EXPECT_EQ(parse(2), "ab");
  EXPECT_EQ(backlog_.size(), 5U);
  keep("h");
  EXPECT_EQ(parse(5), "cdefg");
  EXPECT_EQ(parse(1), "h");
  EXPECT_TRUE(backlog_.empty());
}

TEST_F(BacklogTest, IsCountedInTheBudgetUntilItIsParsed) {
  const size_t before = budget_.used().memory;
  keep(std::string(1'000, 'x'));
  EXPECT_GE(budget_.used().memory, before + 900);
  EXPECT_EQ(budget_.used().memory, backlog_.memory_bytes());
  Backlog::Taken taken = backlog_.take();
  EXPECT_LE(budget_.used().memory, before);
  taken.at = 999;
  backlog_.put_back(std::move(taken));
  EXPECT_EQ(backlog_.size(), 1U);
  EXPECT_LE(budget_.used().memory, before);  // The unparsed rest was moved to a smaller string.
}

TEST_F(BacklogTest, AShortParsedPrefixIsNotMovedAway) {
  keep(std::string(1'000, 'x'));
  parse(10);
  EXPECT_EQ(backlog_.size(), 990U);
  EXPECT_GE(budget_.used().memory, 1'000U);
}

}  // namespace
}  // namespace perennial::core
