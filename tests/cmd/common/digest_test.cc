#include "cmd/common/digest.h"

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

TEST(KeyedDigest, IsTheBeginningOfHmacSha256) {
  // RFC 4231, test case 2.
  EXPECT_EQ(keyed_digest("Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e");
}

TEST(KeyedDigest, DependsOnTheKeyAndOnTheText) {
  EXPECT_NE(keyed_digest("a", "text"), keyed_digest("b", "text"));
  EXPECT_NE(keyed_digest("a", "text"), keyed_digest("a", ""));
  EXPECT_EQ(keyed_digest("", "").size(), 16U);
}

}  // namespace
}  // namespace perennial::common
