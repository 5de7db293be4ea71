#include "cmd/perennial-bench/load/reply_end.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::bench {
namespace {

constexpr size_t body_bytes_max = 100;

struct WholeCase {
  const char* name;
  std::string reply;
};
void PrintTo(const WholeCase& whole, std::ostream* out) {
  *out << whole.name;
}

class Whole : public testing::TestWithParam<WholeCase> {};

TEST_P(Whole, IsFoundOnlyWhenAllOfItHasArrived) {
  const std::string all = GetParam().reply + "NEXT\r\n";
  const size_t line_bytes = all.find("\r\n") + 2;
  for (size_t arrived = line_bytes; arrived <= all.size(); ++arrived) {
    std::string_view rest = std::string_view(all).substr(0, arrived);
    const std::string_view line = take_line(rest);
    const Result<bool> whole = skip_body(line, rest, body_bytes_max);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    EXPECT_EQ(*whole, arrived >= GetParam().reply.size()) << arrived;
    if (!*whole) continue;
    EXPECT_EQ(rest, all.substr(0, arrived).substr(GetParam().reply.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    ReplyEnd, Whole,
    testing::Values(
        WholeCase{"Line", "INSERTED 5\r\n"}, WholeCase{"Job", "RESERVED 5 3\r\na\r\n\r\n"},
        WholeCase{"Found", "FOUND 5 0\r\n\r\n"},
        WholeCase{"Inserted", "INSERTED_BATCH 1 1\r\nINSERTED 1\r\nINSERTED 1 READY\r\n"},
        WholeCase{"Reserved", "RESERVED_BATCH 2\r\nRESERVED 1 2\r\n\r\n\r\nRESERVED 2 0\r\n\r\n"},
        WholeCase{"NoneReserved", "RESERVED_BATCH 0\r\n"},
        WholeCase{"Deleted", "DELETED_BATCH 1 2 7 8\r\n"}),
    [](const testing::TestParamInfo<WholeCase>& param) { return param.param.name; });

TEST(ReplyEnd, ABodyThatIsWrongIsAnError) {
  for (const std::string reply : {"RESERVED 5 3\r\nabcde", "RESERVED 5 101\r\n", "RESERVED 5 x\r\n",
                                  "RESERVED_BATCH 1\r\nRESERVED 1 1\r\nxyz"}) {
    std::string_view rest = reply;
    const std::string_view line = take_line(rest);
    EXPECT_FALSE(skip_body(line, rest, body_bytes_max).ok()) << reply;
  }
}

TEST(ReplyEnd, NumbersAreCountedFromTheWord) {
  EXPECT_EQ(number_in("RESERVED 12 34", 0), 12U);
  EXPECT_EQ(number_in("RESERVED 12 34", 1), 34U);
  EXPECT_EQ(number_in("RESERVED 12 34", 2), std::nullopt);
  EXPECT_EQ(number_in("TIMED_OUT", 0), std::nullopt);
  EXPECT_EQ(number_in("RESERVED 1 x", 1), std::nullopt);
}

}  // namespace
}  // namespace perennial::bench
