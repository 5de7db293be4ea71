#include "engine/containers/kept_buckets.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::engine {
namespace {

constexpr Rate rate = {.jobs = 1, .period = 1000};

TEST(KeptBuckets, ABucketIsTakenOnceAndAsItWas) {
  KeptBuckets buckets(10);
  buckets.keep("a", rate, 100, 0);
  buckets.keep("b", rate, 200, 0);
  EXPECT_EQ(buckets.take("a"), 100);
  EXPECT_EQ(buckets.take("a"), std::nullopt);
  EXPECT_TRUE(buckets.contains("b"));
  EXPECT_EQ(buckets.size(), 1u);
}

TEST(KeptBuckets, OneOfAnotherRateIsForgotten) {
  KeptBuckets buckets(10);
  buckets.keep("a", rate, 100, 0);
  buckets.on_rate("a", rate);
  EXPECT_TRUE(buckets.contains("a"));
  buckets.on_rate("a", Rate{.jobs = 2, .period = 1000});
  EXPECT_FALSE(buckets.contains("a"));
  buckets.keep("a", rate, 100, 0);
  buckets.on_rate("a", std::nullopt);
  EXPECT_FALSE(buckets.contains("a"));
}

TEST(KeptBuckets, OneThatIsFullIsNotKept) {
  KeptBuckets buckets(10);
  buckets.keep("a", rate, 100, 100);
  EXPECT_EQ(buckets.size(), 0u);
}

TEST(KeptBuckets, ThoseThatHaveBecomeFullDoNotPileUp) {
  KeptBuckets buckets(1'000);
  for (Nanos now = 0; now < 500; ++now) buckets.keep(std::to_string(now), rate, now + 10, now);
  EXPECT_LE(buckets.size(), 11u);
}

TEST(KeptBuckets, PastTheLimitTheOneThatIsFullSoonestGoes) {
  KeptBuckets buckets(2);
  buckets.keep("a", rate, 300, 0);
  buckets.keep("b", rate, 100, 0);
  buckets.keep("c", rate, 200, 0);
  EXPECT_EQ(buckets.size(), 2u);
  EXPECT_FALSE(buckets.contains("b"));
  EXPECT_TRUE(buckets.contains("a"));
  EXPECT_TRUE(buckets.contains("c"));
}

}  // namespace
}  // namespace perennial::engine
