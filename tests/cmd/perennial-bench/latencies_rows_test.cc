// The arithmetic of percentiles.

#include <string>

#include <gtest/gtest.h>

#include "cmd/perennial-bench/results/latencies.h"

namespace perennial::bench {
namespace {

struct LatencyCase {
  const char* name;
  Nanos highest;  // The values 1, 2, ... up to this one are added once each.
  double share;
};

void PrintTo(const LatencyCase& latency, std::ostream* out) {
  *out << latency.name;
}

class LatenciesOfARow : public testing::TestWithParam<LatencyCase> {};

TEST_P(LatenciesOfARow, AreAtMostTwoPercentTooHigh) {
  Latencies latencies;
  for (Nanos value = 1; value <= GetParam().highest; ++value) latencies.add(value);
  const auto exact = GetParam().share * static_cast<double>(GetParam().highest);
  const auto given = static_cast<double>(latencies.at(GetParam().share));
  EXPECT_GE(given, exact);
  EXPECT_LE(given, exact * 1.02 + 1);
  EXPECT_EQ(latencies.max(), GetParam().highest);
}

INSTANTIATE_TEST_SUITE_P(
    Bench, LatenciesOfARow,
    testing::Values(LatencyCase{"One", 1, 0.5}, LatencyCase{"Few", 40, 0.5},
                    LatencyCase{"EdgeOfABucket", 64, 0.99}, LatencyCase{"PastIt", 65, 0.99},
                    LatencyCase{"Median", 300'000, 0.5}, LatencyCase{"Tail", 300'000, 0.999},
                    LatencyCase{"Highest", 300'000, 1.0}),
    [](const testing::TestParamInfo<LatencyCase>& param) { return param.param.name; });

TEST(Latencies, OfNothingAreZero) {
  EXPECT_EQ(Latencies().at(0.99), 0);
}

TEST(Latencies, AddUp) {
  Latencies slow;
  slow.add(1'000'000);
  Latencies both;
  both.add(10);
  both.add_all(slow);
  EXPECT_EQ(both.total(), 2U);
  EXPECT_EQ(both.at(0), 10);
  EXPECT_EQ(both.max(), 1'000'000);
}

}  // namespace
}  // namespace perennial::bench
