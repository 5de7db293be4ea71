#include "cmd/perennial-bench/report/axis.h"

#include <gtest/gtest.h>

namespace perennial::bench {
namespace {

std::string labels_of(const Axis& axis) {
  std::string labels;
  for (const Axis::Tick& tick : axis.ticks) labels += (labels.empty() ? "" : ", ") + tick.label;
  return labels;
}

struct AxisCase {
  const char* name;
  Axis axis;
  double lowest;
  double highest;
  const char* labels;
};

void PrintTo(const AxisCase& axis, std::ostream* out) {
  *out << axis.name;
}

class RoundAxis : public testing::TestWithParam<AxisCase> {};

TEST_P(RoundAxis, EnclosesItsValuesInRoundOnes) {
  const AxisCase& want = GetParam();
  EXPECT_DOUBLE_EQ(want.axis.lowest, want.lowest);
  EXPECT_DOUBLE_EQ(want.axis.highest, want.highest);
  EXPECT_EQ(labels_of(want.axis), want.labels);
}

INSTANTIATE_TEST_SUITE_P(
    Axis, RoundAxis,
    testing::Values(AxisCase{"OneDecade", latency_axis(23'000, 480'000), 20'000, 500'000,
                             "20 us, 50 us, 100 us, 200 us, 500 us"},
                    AxisCase{"ManyDecades", latency_axis(30'000, 3'000'000'000), 2e4, 5e9,
                             "100 us, 1 ms, 10 ms, 100 ms, 1 s"},
                    AxisCase{"RoundValues", latency_axis(10'000, 100'000), 1e4, 1e5,
                             "10 us, 20 us, 50 us, 100 us"},
                    AxisCase{"OneRoundValue", latency_axis(10'000, 10'000), 1e4, 2e4,
                             "10 us, 20 us"},
                    AxisCase{"Zero", latency_axis(0, 0), 100, 200, "100 ns, 200 ns"},
                    AxisCase{"Rates", rate_axis(148'123), 0, 150'000, "0, 50k, 100k, 150k"},
                    AxisCase{"RoundRate", rate_axis(1e6), 0, 1e6, "0, 200k, 400k, 600k, 800k, 1M"},
                    AxisCase{"NoRate", rate_axis(0), 0, 1, "0, 1"},
                    AxisCase{"Seconds", time_axis(5), 0, 5, "0 s, 1 s, 2 s, 3 s, 4 s, 5 s"},
                    AxisCase{"TenthsOfASecond", time_axis(0.3), 0, 0.3, "0 s, 0.1 s, 0.2 s, 0.3 s"},
                    AxisCase{"Nines", percentile_axis(5.2), 0, 6,
                             "0, 90%, 99%, 99.9%, 99.99%, 99.999%, 99.9999%"},
                    AxisCase{"AWholeNumberOfThem", percentile_axis(2), 0, 2, "0, 90%, 99%"},
                    AxisCase{"OfOne", percentile_axis(0), 0, 1, "0, 90%"}),
    [](const testing::TestParamInfo<AxisCase>& param) { return param.param.name; });

TEST(Axis, PlacesByTheirRatioWhenLogarithmic) {
  const Axis axis = latency_axis(1'000, 100'000);
  EXPECT_DOUBLE_EQ(axis.place_of(1'000), 0);
  EXPECT_DOUBLE_EQ(axis.place_of(10'000), 0.5);
  EXPECT_DOUBLE_EQ(axis.place_of(100'000), 1);
}

TEST(Axis, PlacesEvenlyOtherwise) {
  EXPECT_DOUBLE_EQ(rate_axis(1000).place_of(250), 0.25);
}

TEST(Axis, HoldsWhatIsOutsideAtItsEnds) {
  EXPECT_DOUBLE_EQ(latency_axis(1'000, 10'000).place_of(0), 0);
  EXPECT_DOUBLE_EQ(latency_axis(1'000, 10'000).place_of(1e9), 1);
  EXPECT_DOUBLE_EQ(rate_axis(10).place_of(11), 1);
}

}  // namespace
}  // namespace perennial::bench
