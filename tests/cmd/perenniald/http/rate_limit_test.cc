#include "cmd/perenniald/http/routes/rate_limit.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::http {
namespace {

constexpr Nanos second = nanos_per_second;

int allowed(RateLimit& limit, const std::string& address, Nanos now) {
  int count = 0;
  while (count < 1'000 && limit.allows(address, now)) ++count;
  return count;
}

TEST(RateLimit, AllowsABurstAndThenARate) {
  RateLimit limit;
  EXPECT_EQ(allowed(limit, "192.0.2.1", 0), 200);
  EXPECT_EQ(allowed(limit, "192.0.2.1", second), 50);
  EXPECT_EQ(allowed(limit, "192.0.2.1", second + second / 10), 5);
  EXPECT_EQ(allowed(limit, "192.0.2.2", second), 200);
  EXPECT_EQ(allowed(limit, "192.0.2.1", 100 * second), 200);
  EXPECT_EQ(allowed(limit, "", 0), 1'000);
}

TEST(RateLimit, RemembersABoundedNumberOfAddresses) {
  RateLimit limit;
  for (size_t i = 0; i < RateLimit::addresses_max; ++i) limit.allows(std::to_string(i), 0);
  EXPECT_FALSE(limit.allows("new", 0));
  EXPECT_TRUE(limit.allows("0", 0));
  EXPECT_TRUE(limit.allows("new", second));  // All others are full again.
  EXPECT_LE(limit.size(), 2u);
}

}  // namespace
}  // namespace perennial::http
