#include "cmd/perenniald/access/sign_in.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace perennial::access {
namespace {

TEST(SeenSignIns, ForgetsWhatWasSeenLongestAgo) {
  SeenSignIns seen;
  EXPECT_TRUE(seen.is_news("a", "1", 0));
  EXPECT_TRUE(seen.is_news("b", "1", 1));
  EXPECT_FALSE(seen.is_news("a", "1", 2));
  for (size_t i = 2; i < SeenSignIns::pairs_max; ++i) seen.is_news("c", fmt::format("{}", i), 3);
  EXPECT_EQ(seen.size(), SeenSignIns::pairs_max);
  EXPECT_TRUE(seen.is_news("d", "1", 4));  // In place of "b".
  EXPECT_EQ(seen.size(), SeenSignIns::pairs_max);
  EXPECT_FALSE(seen.is_news("a", "1", 5));
  EXPECT_TRUE(seen.is_news("b", "1", 6));
  EXPECT_FALSE(seen.is_news("a", "1", 4 + SeenSignIns::idle));
  EXPECT_TRUE(seen.is_news("a", "1", 4 + 2 * SeenSignIns::idle));
}

TEST(SignInLimiter, ForgetsTheOldestAddress) {
  SignInLimiter limiter;
  for (uint32_t i = 0; i < SignInLimiter::failures_max; ++i) limiter.on_failure("a", 0);
  EXPECT_TRUE(limiter.is_refused("a", 1));
  for (size_t i = 1; i < SignInLimiter::addresses_max; ++i) {
    limiter.on_failure(fmt::format("b{}", i), 2);
  }
  EXPECT_TRUE(limiter.is_refused("a", 3));
  limiter.on_failure("c", 3);
  EXPECT_FALSE(limiter.is_refused("a", 4));
  EXPECT_EQ(limiter.size(), SignInLimiter::addresses_max);
  limiter.on_failure("", 5);
  EXPECT_EQ(limiter.size(), SignInLimiter::addresses_max);
}

}  // namespace
}  // namespace perennial::access
