#include "engine/types/histogram.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial {
namespace {

constexpr std::array<uint64_t, 3> some_bounds = {10, 20, 40};
using Some = Histogram<some_bounds>;

struct BucketCase {
  std::string name;
  uint64_t value;
  size_t bucket;
};
class BucketTest : public testing::TestWithParam<BucketCase> {};

TEST_P(BucketTest, HoldsTheValue) {
  Some histogram;
  histogram.record(GetParam().value);
  std::vector<uint64_t> want(4);
  want[GetParam().bucket] = 1;
  const HistogramView view = histogram.view();
  EXPECT_EQ(std::vector(view.counts.begin(), view.counts.end()), want);
  EXPECT_EQ(view.sum, static_cast<double>(GetParam().value));
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, BucketTest,
    testing::Values(BucketCase{"Zero", 0, 0}, BucketCase{"AtTheFirst", 10, 0},
                    BucketCase{"PastTheFirst", 11, 1}, BucketCase{"AtTheSecond", 20, 1},
                    BucketCase{"PastTheSecond", 21, 2}, BucketCase{"AtTheLast", 40, 2},
                    BucketCase{"PastTheLast", 41, 3}, BucketCase{"TheHighest", UINT64_MAX, 3}),
    [](const auto& param) { return param.param.name; });

// Each bound and its neighbours, in all the histograms that the server has.
template <typename H>
void expect_exact_buckets() {
  const H empty;
  for (size_t i = 0; i < empty.view().bounds.size(); ++i) {
    const uint64_t bound = empty.view().bounds[i];
    H histogram;
    histogram.record(bound);
    EXPECT_EQ(histogram.view().counts[i], 1u) << bound;
    histogram.record(bound + 1);
    EXPECT_EQ(histogram.view().counts[i + 1], 1u) << bound;
  }
}

TEST(Histogram, FindsEveryBucket) {
  expect_exact_buckets<LatencyHistogram>();
  expect_exact_buckets<WorkHistogram>();
  expect_exact_buckets<BatchJobsHistogram>();
  expect_exact_buckets<BatchBytesHistogram>();
}

TEST(Histogram, HasTheBucketsThatAreDocumented) {
  EXPECT_EQ(latency_bounds.front(), 50'000u);
  EXPECT_EQ(latency_bounds.back(), 26'214'400'000u);
  EXPECT_EQ(work_bounds.front(), 1'000'000u);
  EXPECT_EQ(work_bounds.back(), 86'400'000'000'000u);
  EXPECT_EQ(batch_bytes_bounds.back(), uint64_t{1} << 30);
}

TEST(Histogram, CountsOneValueManyTimes) {
  Some histogram;
  histogram.record(15, 3);
  histogram.record(50);
  EXPECT_EQ(histogram.count(), 4u);
  EXPECT_EQ(histogram.view().counts[1], 3u);
  EXPECT_EQ(histogram.view().sum, 95.0);
}

TEST(Histogram, CountsATimeBelowZeroAsZero) {
  WorkHistogram histogram;
  histogram.record_time(-5);
  EXPECT_EQ(histogram.view().counts[0], 1u);
  EXPECT_EQ(histogram.view().sum, 0.0);
}

TEST(Histogram, AddsUpMoreThan64BitsHold) {
  Some histogram;
  for (int i = 0; i < 4; ++i) histogram.record(uint64_t{1} << 63);
  EXPECT_EQ(histogram.view().sum, 4.0 * 9223372036854775808.0);
}

}  // namespace
}  // namespace perennial
