#include "cmd/perennial-bench/results/latencies.h"

#include <limits>

#include <gtest/gtest.h>

namespace perennial::bench {
namespace {

// The values 1, 2, ... up to `count` once each, which are few enough for exact results.
struct RankCase {
  const char* name;
  Nanos count;
  double share;
  Nanos want;
};

void PrintTo(const RankCase& rank, std::ostream* out) {
  *out << rank.name;
}

class Percentile : public testing::TestWithParam<RankCase> {};

TEST_P(Percentile, IsTheNearestRank) {
  Latencies latencies;
  for (Nanos value = 1; value <= GetParam().count; ++value) latencies.add(value);
  EXPECT_EQ(latencies.at(GetParam().share), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Latencies, Percentile,
                         testing::Values(RankCase{"MedianOfTwoIsTheLower", 2, 0.5, 1},
                                         RankCase{"MedianOfThree", 3, 0.5, 2},
                                         RankCase{"P90OfTen", 10, 0.9, 9},
                                         RankCase{"P99OfAHundredLeavesOneOut", 100, 0.99, 99},
                                         RankCase{"P99OfFewerIsTheLongest", 99, 0.99, 99},
                                         RankCase{"ProductThatIsALittleTooHigh", 100, 0.07, 7},
                                         RankCase{"ProductThatIsALittleTooLow", 100, 0.29, 29},
                                         RankCase{"P999OfFewIsTheLongest", 100, 0.999, 100},
                                         RankCase{"ZeroIsTheShortest", 100, 0, 1},
                                         RankCase{"OneIsTheLongest", 100, 1, 100}),
                         [](const testing::TestParamInfo<RankCase>& param) {
                           return param.param.name;
                         });

TEST(Latencies, P999OfAThousandLeavesOneOut) {
  Latencies latencies;
  for (int i = 0; i < 999; ++i) latencies.add(50);
  latencies.add(1'000'000);
  EXPECT_EQ(latencies.at(0.999), 50);
  EXPECT_EQ(latencies.at(0.9991), 1'000'000);
}

TEST(Latencies, NegativeOnesCountAsNone) {
  Latencies latencies;
  latencies.add(-5);
  EXPECT_EQ(latencies.total(), 1U);
  EXPECT_EQ(latencies.at(0.5), 0);
  EXPECT_EQ(latencies.max(), 0);
}

TEST(Latencies, TakeTheLongestThereIs) {
  constexpr Nanos longest = std::numeric_limits<Nanos>::max();
  Latencies latencies;
  latencies.add(1);
  latencies.add(longest);
  EXPECT_EQ(latencies.at(0.5), 1);
  EXPECT_EQ(latencies.at(1), longest);
  EXPECT_EQ(latencies.max(), longest);
}

// The error is at most 1/64 of the value, at each power of two and next to it.
TEST(Latencies, AreAtMostASixtyFourthTooHighAtAnySize) {
  for (int power = 0; power < 62; ++power)
    for (const Nanos offset : {-1, 0, 1}) {
      const Nanos value = (Nanos{1} << power) + offset;
      Latencies latencies;
      latencies.add(value);
      latencies.add(std::numeric_limits<Nanos>::max());
      EXPECT_GE(latencies.at(0.5), value) << value;
      EXPECT_LE(latencies.at(0.5), value + value / 64) << value;
    }
}

}  // namespace
}  // namespace perennial::bench
